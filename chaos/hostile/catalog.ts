/** The models of a hostile run: the sandbox in each format, once with short deadlines, and models that cannot be called. */
export const chatModels = ['hostile-openai', 'hostile-anthropic', 'hostile-google'] as const;
/** For providers that fall silent. */
export const hastyModel = 'hostile-hasty';
export const imageModel = 'hostile-image';
export const uncallableModels = [
  'hostile-disabled',
  'no-such-model',
  '__proto__',
  'constructor',
  '',
] as const;

/** `origin` is the sandbox's. */
export function hostileCatalog(origin: string): string {
  // One account asks for every fault here; an open circuit would hide the rest.
  const patient = 'api_key_env: CHAOS_PROVIDER_KEY, circuit: { failures: 1000, open_ms: 100 }';
  const able =
    'capabilities: [text_input, text_output, image_input, streaming, function_calling, structured_output]';
  const price =
    'pricing: { billing_type: token, input: "2.130007", output: "7.770013", cache_read: "0.213011", cache_write: "2.662519" }';
  const chat = (provider: string) =>
    `{ workload: chat, context_window: 128000, max_output_tokens: 16384, ${able}, ${price}, providers: [${provider}] }`;
  return `price_version: hostile
providers:
  openai: { adapter: openai, base_url: ${origin}/v1, ${patient} }
  anthropic: { adapter: anthropic, base_url: ${origin}/v1, ${patient} }
  google: { adapter: google, base_url: ${origin}/v1beta, ${patient} }
  hasty: { adapter: openai, base_url: ${origin}/v1, ${patient}, timeouts: { first_byte_ms: 100, idle_ms: 100, total_ms: 1000 } }
models:
  hostile-openai: ${chat('openai')}
  hostile-anthropic: ${chat('anthropic')}
  hostile-google: ${chat('google')}
  hostile-hasty: ${chat('hasty')}
  hostile-disabled: { enabled: false, ${chat('openai').slice(2)}
  hostile-image:
    workload: image
    sizes: ["512x512"]
    pricing: { billing_type: image, unit_price: "0.01" }
    providers: [openai]
`;
}
