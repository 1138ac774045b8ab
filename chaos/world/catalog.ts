/** The models and prices of a chaos run, and what usage must cost, computed independently of the gateway's code. */
import type { Usage } from './upstream.ts';

/** Six decimals, so that every token counts down to the last unit of 1e-12 USD. */
const price: Rates = {
  input: '2.130007',
  output: '7.770013',
  cacheRead: '0.213011',
  cacheWrite: '2.662519',
};

/** What two of the providers ask of the operator. What the others ask is unknown. */
const costs: ReadonlyMap<string, Rates> = new Map([
  ['upstream', { input: '1.930003', output: '6.660011', cacheRead: '0.193009', cacheWrite: '2.412507' }],
  // It has no prices for caches.
  ['network', { input: '1.530017', output: '5.550019', cacheRead: '1.530017', cacheWrite: '1.530017' }],
]);

type Rates = Readonly<{ input: string; output: string; cacheRead: string; cacheWrite: string }>;

/** Served by the sandbox alone. */
export const plainModel = 'chaos-chat';
/** Served by it only after one provider where nothing listens, and one whose connections are never completed. */
export const fallbackModel = 'chaos-fallback';
/** Served over the bad network first, or only over it, while its circuit is closed. */
export const networkModel = 'chaos-network';
export const networkOnlyModel = 'chaos-network-only';
/** Served over the bad network first, however often that fails. */
export const stubbornModel = 'chaos-stubborn';

/** Served by the sandbox alone, with a deadline shorter than some answers. */
export const briefModel = 'chaos-brief';

/** The providers that are the sandbox over the bad network. */
export const networkProviders: ReadonlySet<string> = new Set(['network', 'stubborn']);

/** The providers whose deadline is shorter than the longest answers. */
export const hastyProviders: ReadonlySet<string> = new Set([...networkProviders, 'brief']);

/** Base URLs. */
export type Addresses = Readonly<{ upstream: string; network: string; absent: string; deaf: string }>;

export function catalogText(addresses: Addresses): string {
  const model = `
    workload: chat
    context_window: 128000
    max_output_tokens: 16384
    capabilities: [text_input, text_output, streaming]
    pricing: { billing_type: token, ${fieldsOf(price)} }`;
  const provider = (url: string) => `adapter: openai, base_url: ${url}, api_key_env: CHAOS_PROVIDER_KEY`;
  // Faults are requested on purpose here: an open circuit would hide the rest.
  const patient = 'circuit: { failures: 1000, open_ms: 100 }';
  const wary = 'circuit: { failures: 5, open_ms: 500 }';
  const hasty = 'timeouts: { connect_ms: 300, first_byte_ms: 700, idle_ms: 500, total_ms: 3000 }';
  // The sandbox logs the requested model, so its log shows for which provider a call was made.
  const route = (name: string) => {
    const cost = costs.get(name);
    return `{ provider: ${name}, upstream_model: ${name}${cost ? `, cost: { ${fieldsOf(cost)} }` : ''} }`;
  };
  return `price_version: chaos
providers:
  upstream: { ${provider(addresses.upstream)}, ${patient} }
  brief: { ${provider(addresses.upstream)}, ${patient}, timeouts: { total_ms: 700 } }
  absent: { ${provider(addresses.absent)}, ${patient} }
  deaf: { ${provider(addresses.deaf)}, ${wary}, ${hasty} }
  network: { ${provider(addresses.network)}, ${wary}, ${hasty} }
  stubborn: { ${provider(addresses.network)}, ${patient}, ${hasty} }
models:
  ${plainModel}:${model}
    providers: [${route('upstream')}]
  ${briefModel}:${model}
    providers: [${route('brief')}]
  ${fallbackModel}:${model}
    providers: [${route('absent')}, ${route('deaf')}, ${route('upstream')}]
  ${networkModel}:${model}
    providers: [${route('network')}, ${route('upstream')}]
  ${networkOnlyModel}:${model}
    providers: [${route('network')}]
  ${stubbornModel}:${model}
    providers: [${route('stubborn')}, ${route('upstream')}]
`;
}

/** Cached input without a price of its own costs as much as other input. */
function fieldsOf({ input, output, cacheRead, cacheWrite }: Rates): string {
  const cached = cacheRead === input ? '' : `, cache_read: "${cacheRead}", cache_write: "${cacheWrite}"`;
  return `input: "${input}", output: "${output}"${cached}`;
}

/** What it costs the customer, by meter, in units of 1e-12 USD. */
export type MeterCosts = Readonly<{ fresh: bigint; read: bigint; written: bigint; output: bigint }>;

export function costsOf(usage: Usage, rates = price): MeterCosts {
  const { inputTokens, outputTokens, readTokens = 0, writtenTokens = 0 } = usage;
  const cost = (tokens: number, rate: string) => BigInt(tokens) * unitsPerToken(rate);
  return {
    fresh: cost(inputTokens - readTokens - writtenTokens, rates.input),
    read: cost(readTokens, rates.cacheRead),
    written: cost(writtenTokens, rates.cacheWrite),
    output: cost(outputTokens, rates.output),
  };
}

export function priceOf(usage: Usage): bigint {
  return sumOf(costsOf(usage));
}

/** What input costs that no cache is involved in. */
export function fullInputPrice({ inputTokens }: Usage): bigint {
  return BigInt(inputTokens) * unitsPerToken(price.input);
}

/** The most that this much input and output can cost: the provider may write all of the input to a cache. */
export function holdOf({ inputTokens, outputTokens }: Usage): bigint {
  return priceOf({ inputTokens, outputTokens, writtenTokens: inputTokens });
}

/** What the provider asks of the operator; null if that is unknown. */
export function costOf(provider: string, usage: Usage): bigint | null {
  const rates = costs.get(provider);
  return rates === undefined ? null : sumOf(costsOf(usage, rates));
}

function sumOf({ fresh, read, written, output }: MeterCosts): bigint {
  return fresh + read + written + output;
}

/** A price per million tokens with six decimals is that many units per token. */
function unitsPerToken(rate: string): bigint {
  return BigInt(rate.replace('.', ''));
}
