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

/** USD for a million tokens. Writing to a cache costs as much as other input. */
const pricing = { billing_type: 'token', input: '1', output: '2', cache_read: '0.1' };
const picodollars = { input: 1_000_000n, output: 2_000_000n, cached: 100_000n };

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
  for (const [name, entries] of Object.entries(providers))
    catalog.models[`formats-${name}`] = {
      ...catalog.models['sandbox-chat'],
      name: `Formats, ${name}`,
      context_window: 1_000_000,
      max_output_tokens: 64_000,
      pricing,
      providers: entries,
    };
  const file = join(temporaryFolder(), 'catalog.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(catalog));
  return file;
}

type Counts = Readonly<{ input: number; cached: number; output: number }>;

/** What a sandbox's logged usage costs, as a decimal with 12 digits. */
export function priceOf(path: string, usage: Readonly<Record<string, unknown>>): string {
  const { input, cached, output } = countsOf(path, usage);
  const total =
    BigInt(input - cached) * picodollars.input +
    BigInt(cached) * picodollars.cached +
    BigInt(output) * picodollars.output;
  const digits = total.toString().padStart(13, '0');
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`;
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
