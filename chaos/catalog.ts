/** The models and prices of a chaos run, and what a usage must cost by them, computed apart from the gateway's code. */
import type { Usage } from './upstream.ts';

/** Six decimals, so that every token counts down to the last unit of 1e-12 USD. */
const inputPrice = '2.130007';
const outputPrice = '7.770013';

/** Served by the sandbox alone, and served by it only after a provider that nobody answers for. */
export const plainModel = 'chaos-chat';
export const fallbackModel = 'chaos-fallback';

export function catalogText(upstreamUrl: string, absentUrl: string): string {
  const model = `
    workload: chat
    context_window: 128000
    max_output_tokens: 16384
    capabilities: [text_input, text_output, streaming]
    pricing: { billing_type: token, input: "${inputPrice}", output: "${outputPrice}" }`;
  // Faults are asked for on purpose here: a circuit that opened because of them would hide the rest.
  const circuit = 'circuit: { failures: 1000, open_ms: 100 }';
  return `price_version: chaos
providers:
  upstream: { name: Upstream, adapter: openai, base_url: ${upstreamUrl}, api_key_env: CHAOS_PROVIDER_KEY, ${circuit} }
  absent: { name: Absent, adapter: openai, base_url: ${absentUrl}, api_key_env: CHAOS_PROVIDER_KEY, ${circuit} }
models:
  ${plainModel}:${model}
    providers: [upstream]
  ${fallbackModel}:${model}
    providers: [absent, upstream]
`;
}

/** In units of 1e-12 USD: a price for a million tokens with six decimals is that many units for each. */
export function priceOf({ inputTokens, outputTokens }: Usage): bigint {
  return BigInt(inputTokens) * unitsPerToken(inputPrice) + BigInt(outputTokens) * unitsPerToken(outputPrice);
}

function unitsPerToken(price: string): bigint {
  return BigInt(price.replace('.', ''));
}
