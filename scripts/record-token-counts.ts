/**
 * Counts the tokens of natural texts with public tokenizers, and stores the fewest for tests/chat/least-tokens.test.ts. Prints
 * the tables of docs/token-bounds.md, and the tokens that would be counted as more than one. Run it with the folder that
 * measure-tokenizers.ts explains:
 *
 *   bun scripts/record-token-counts.ts /tmp/tokenizers
 */
import { join } from 'node:path';
import { LeastTokens } from '../src/chat/least-tokens.ts';
import { naturalTexts } from './natural-texts.ts';
import { loadTokenizers } from './tokenizers.ts';

const all = await loadTokenizers(process.argv[2]);
const recorded: Record<string, object> = {};

function leastOf(text: string): number {
  const least = new LeastTokens();
  least.add(text);
  return least.tokens;
}

console.log(
  '| kind of text | bytes | fewest tokens | by | most tokens | bytes ÷ fewest | estimate | ÷ fewest |',
);
console.log('| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |');
for (const [kind, text] of Object.entries(naturalTexts)) {
  const counts = all.map(({ name, count }) => ({ name, tokens: count(text) }));
  const fewest = counts.reduce((best, one) => (one.tokens < best.tokens ? one : best));
  const most = Math.max(...counts.map(({ tokens }) => tokens));
  const bytes = Buffer.byteLength(text);
  const least = leastOf(text);
  const figures = [bytes, fewest.tokens, fewest.name, most, (bytes / fewest.tokens).toFixed(2), least];
  console.log(`| ${kind} | ${figures.join(' | ')} | ${(least / fewest.tokens).toFixed(2)} |`);
  recorded[kind] = {
    sha256: new Bun.CryptoHasher('sha256').update(text).digest('hex'),
    fewest: fewest.tokens,
  };
}

console.log('\n| vocabulary | tokens | counted as more than one |\n| --- | ---: | ---: |');
for (const { name, vocabulary } of all) {
  const tokens = vocabulary();
  const over = tokens.filter((token) => leastOf(token) > 1);
  console.log(`| ${name} | ${tokens.length} | ${over.length} | ${JSON.stringify(over.slice(0, 12))}`);
}

const file = join(import.meta.dir, '../tests/support/token-counts.json');
await Bun.write(file, `${JSON.stringify(recorded, null, 2)}\n`);
