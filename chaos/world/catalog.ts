/** The models and prices of a chaos run, and what a usage must cost by them, computed apart from the gateway's code. */
import type { Usage } from './upstream.ts';

/** Six decimals, so that every token counts down to the last unit of 1e-12 USD. */
const inputPrice = '2.130007';
const outputPrice = '7.770013';

/** Served by the sandbox alone. */
export const plainModel = 'chaos-chat';
/** Served by it only after a provider that nobody answers for, and one whose connections are never made. */
export const fallbackModel = 'chaos-fallback';
/** Served over the bad network first, or over nothing else, for as long as its circuit is closed. */
export const networkModel = 'chaos-network';
export const networkOnlyModel = 'chaos-network-only';
/** Served over the bad network first, however often that fails. */
export const stubbornModel = 'chaos-stubborn';

/** Served by the sandbox alone, for no longer than some answers take. */
export const briefModel = 'chaos-brief';

/** The providers that are the sandbox over the bad network. */
export const networkProviders: ReadonlySet<string> = new Set(['network', 'stubborn']);

/** The providers that are given up before the longest answers are over. */
export const hastyProviders: ReadonlySet<string> = new Set([...networkProviders, 'brief']);

/** Base URLs. */
export type Addresses = Readonly<{ upstream: string; network: string; absent: string; deaf: string }>;

export function catalogText(addresses: Addresses): string {
  const model = `
    workload: chat
    context_window: 128000
    max_output_tokens: 16384
    capabilities: [text_input, text_output, streaming]
    pricing: { billing_type: token, input: "${inputPrice}", output: "${outputPrice}" }`;
  const provider = (url: string) => `adapter: openai, base_url: ${url}, api_key_env: CHAOS_PROVIDER_KEY`;
  // Faults are asked for on purpose here: a circuit that opened because of them would hide the rest.
  const patient = 'circuit: { failures: 1000, open_ms: 100 }';
  const wary = 'circuit: { failures: 5, open_ms: 500 }';
  const hasty = 'timeouts: { connect_ms: 300, first_byte_ms: 700, idle_ms: 500, total_ms: 3000 }';
  // The sandbox logs the model that it is asked for, so its log tells by which provider a call came.
  const route = (name: string) => `{ provider: ${name}, upstream_model: ${name} }`;
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

/** In units of 1e-12 USD: a price for a million tokens with six decimals is that many units for each. */
export function priceOf({ inputTokens, outputTokens }: Usage): bigint {
  return BigInt(inputTokens) * unitsPerToken(inputPrice) + BigInt(outputTokens) * unitsPerToken(outputPrice);
}

function unitsPerToken(price: string): bigint {
  return BigInt(price.replace('.', ''));
}
