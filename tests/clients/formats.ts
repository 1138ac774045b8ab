/** Models for the clients that depend on the format of a provider: one for each, at a sandbox whose log is read. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { temporaryFolder } from '../support/gateway.ts';

const adapters = { chat: 'openai', messages: 'anthropic', google: 'google' } as const;

/** The models by what a run shows with them. */
export const formatModels = {
  'Chat completions': 'formats-chat',
  Messages: 'formats-messages',
  Google: 'formats-google',
  Responses: 'formats-responses',
  'a fallback': 'formats-fallback',
} as const;

/** Before the ID of one of these models, it makes Codex offer the tools that it has for models it knows. */
export const knownPrefix = 'gpt-5.5-';

/** Its output costs so much more than its input that a test can say when a balance ends. */
export const expensiveModel = 'formats-expensive';

/** USD for a million tokens. Writing to a cache costs as much as other input. */
const usualPrices = { input: 1, output: 2, cache_read: 0.1 };
const expensivePrices = { input: 0.01, output: 20, cache_read: 0.001 };
const pricing = ({ input, output, cache_read }: typeof usualPrices) => ({
  billing_type: 'token',
  input: String(input),
  output: String(output),
  cache_read: String(cache_read),
});

/** The path of the project's own catalogue with these models added. */
export function writeCatalog(sandboxUrl: string): string {
  const catalog = parse(readFileSync(join(import.meta.dir, '../../catalog.yaml'), 'utf8'));
  for (const [name, adapter] of Object.entries(adapters)) {
    const version = adapter === 'google' ? 'v1beta' : 'v1';
    catalog.providers[`formats-${name}`] = {
      name: `Formats, ${name}`,
      adapter,
      base_url: `${sandboxUrl}/${version}`,
      api_key_env: 'FORMATS_KEY',
      circuit: { failures: 1000 },
    };
  }
  const chat = { provider: 'formats-chat', upstream_model: 'x' };
  const messages = { provider: 'formats-messages', upstream_model: 'x' };
  const google = { provider: 'formats-google', upstream_model: 'gemini-3-x' };
  const providers = {
    chat: [chat],
    messages: [messages],
    google: [google],
    responses: [{ ...chat, api: 'responses' }],
    fallback: [messages, chat],
  };
  const add = (id: string, prices: typeof usualPrices, entries: readonly unknown[]) => {
    catalog.models[id] = {
      ...catalog.models['sandbox-chat'],
      name: id,
      context_window: 1_000_000,
      max_output_tokens: 64_000,
      pricing: pricing(prices),
      providers: entries,
    };
  };
  for (const [name, entries] of Object.entries(providers))
    for (const prefix of ['', knownPrefix]) add(`${prefix}formats-${name}`, usualPrices, entries);
  add(expensiveModel, expensivePrices, providers.messages);
  const file = join(temporaryFolder(), 'catalog.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(catalog));
  return file;
}

type Counts = Readonly<{ input: number; cached: number; output: number }>;

/** What logged usage costs, in picodollars. */
export function priceOf(path: string, usage: Readonly<Record<string, unknown>>, model = ''): bigint {
  const prices = model === expensiveModel ? expensivePrices : usualPrices;
  // A dollar for a million tokens is a million picodollars for one.
  const cost = (tokens: number, price: number) => BigInt(tokens) * BigInt(Math.round(price * 1_000_000));
  const { input, cached, output } = countsOf(path, usage);
  return cost(input - cached, prices.input) + cost(cached, prices.cache_read) + cost(output, prices.output);
}

/** All input and the part of it that was read from a cache, in the words of each format. */
export function countsOf(path: string, usage: Readonly<Record<string, unknown>>): Counts {
  const count = (name: string, of: unknown = usage) =>
    Number((of as Readonly<Record<string, unknown>> | undefined)?.[name] ?? 0);
  if (path.endsWith('/chat/completions')) {
    const cached = count('cached_tokens', usage.prompt_tokens_details);
    return { input: count('prompt_tokens'), cached, output: count('completion_tokens') };
  }
  if (path.endsWith('/responses')) {
    const cached = count('cached_tokens', usage.input_tokens_details);
    return { input: count('input_tokens'), cached, output: count('output_tokens') };
  }
  if (path.endsWith('/messages')) {
    const cached = count('cache_read_input_tokens');
    const input = count('input_tokens') + cached + count('cache_creation_input_tokens');
    return { input, cached, output: count('output_tokens') };
  }
  return {
    input: count('promptTokenCount'),
    cached: count('cachedContentTokenCount'),
    output: count('candidatesTokenCount') + count('thoughtsTokenCount'),
  };
}
