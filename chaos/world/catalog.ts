/** The models and prices of a chaos run, and what usage must cost, computed independently of the gateway's code. */
import type { Usage } from './upstream.ts';

/** Six decimals, so that every token counts down to the last unit of 1e-12 USD. */
const inputPrice = '2.130007';
const outputPrice = '7.770013';

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
    pricing: { billing_type: token, input: "${inputPrice}", output: "${outputPrice}" }`;
  const provider = (url: string) => `adapter: openai, base_url: ${url}, api_key_env: CHAOS_PROVIDER_KEY`;
  // Faults are requested on purpose here: an open circuit would hide the rest.
  const patient = 'circuit: { failures: 1000, open_ms: 100 }';
  const wary = 'circuit: { failures: 5, open_ms: 500 }';
  const hasty = 'timeouts: { connect_ms: 300, first_byte_ms: 700, idle_ms: 500, total_ms: 3000 }';
  // The sandbox logs the requested model, so its log shows for which provider a call was made.
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

/** In units of 1e-12 USD: a price per million tokens with six decimals is that many units per token. */
export function priceOf({ inputTokens, outputTokens }: Usage): bigint {
  return BigInt(inputTokens) * unitsPerToken(inputPrice) + BigInt(outputTokens) * unitsPerToken(outputPrice);
}

function unitsPerToken(price: string): bigint {
  return BigInt(price.replace('.', ''));
}
