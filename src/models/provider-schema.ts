/** Reads a provider of the catalogue. */
import { type Dialect, defaultDialect } from '../providers/upstream.ts';
import {
  field,
  fields,
  matching,
  mismatch,
  oneOf,
  plainText,
  report,
  wholeNumber,
  withoutRepeats,
} from './fields.ts';
import { adapters, optionalParameters, type Provider } from './model.ts';

export const providerId = matching(
  /^[A-Za-z0-9_][\w.-]{0,63}$/,
  'a provider ID of letters, digits, ., - and _, of at most 64 characters',
);

const dayMs = 86_400_000;
const milliseconds = wholeNumber(1, dayMs).optional();

const baseUrlExpectation = 'an http or https address without credentials, query or fragment';
const baseUrl = field<string>((input) => {
  const url = typeof input === 'string' && !/[\s\\]/.test(input) ? URL.parse(input) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return { expected: baseUrlExpectation, isSecret: true };
  const isBare = url.username === '' && url.password === '' && !/[?#]/.test(url.href);
  return isBare ? { value: url.href.replace(/\/+$/, '') } : { expected: baseUrlExpectation, isSecret: true };
});

const apiKeyEnv = field<string>((input) =>
  typeof input === 'string' && /^[A-Za-z_]\w*$/.test(input)
    ? { value: input }
    : { expected: 'the name of a variable such as OPENAI_API_KEY, not the key itself', isSecret: true },
);

export const unsupportedParameters = withoutRepeats('parameters', oneOf(...optionalParameters)).transform(
  (names) => new Set(names),
);

const dialect = fields({
  max_tokens: oneOf('max_tokens', 'max_completion_tokens').optional(),
  seed: oneOf('seed', 'random_seed').optional(),
  stream_usage: oneOf('asked', 'always').optional(),
  images: oneOf('any', 'data').optional(),
  strict_tools: oneOf('unsupported', 'supported').optional(),
  cache_key: oneOf('none', 'prompt_cache_key', 'x-grok-conv-id').optional(),
}).transform(
  (wire): Dialect => ({
    maxTokens: wire.max_tokens ?? defaultDialect.maxTokens,
    seed: wire.seed ?? defaultDialect.seed,
    streamUsage: wire.stream_usage ?? defaultDialect.streamUsage,
    images: wire.images ?? defaultDialect.images,
    strictTools: wire.strict_tools ?? defaultDialect.strictTools,
    cacheKey: wire.cache_key ?? defaultDialect.cacheKey,
  }),
);

/** The sandbox makes up arguments from the schema, so its calls always match it. */
const sandboxDialect: Dialect = { ...defaultDialect, strictTools: 'supported' };

const providerFields = fields({
  name: plainText(100).optional(),
  adapter: oneOf(...adapters),
  base_url: baseUrl.optional(),
  api_key_env: apiKeyEnv.optional(),
  timeouts: fields({
    connect_ms: milliseconds,
    first_byte_ms: milliseconds,
    idle_ms: milliseconds,
    total_ms: milliseconds,
  }).optional(),
  circuit: fields({ failures: wholeNumber(1, 1000).optional(), open_ms: milliseconds }).optional(),
  dialect: dialect.optional(),
  unsupported_parameters: unsupportedParameters.optional(),
  prompt_cache: oneOf('auto', 'off').optional(),
  max_concurrency: wholeNumber(1, 100_000).optional(),
});

export function providerSchema(id: string) {
  return providerFields.transform((wire, context): Provider => {
    if (wire.adapter === 'sandbox') {
      for (const name of ['base_url', 'api_key_env'] as const) {
        if (wire[name] !== undefined)
          report(context, [name], 'not allowed with the adapter sandbox, which the gateway starts itself');
      }
    } else if (wire.base_url === undefined) {
      report(context, ['base_url'], mismatch(baseUrlExpectation, undefined));
    }
    if (wire.adapter !== 'openai' && wire.dialect !== undefined)
      report(
        context,
        ['dialect'],
        `only the adapter openai has dialects, and the adapter here is ${wire.adapter}`,
      );
    if (wire.prompt_cache === 'auto' && wire.adapter !== 'anthropic' && wire.adapter !== 'openai')
      report(
        context,
        ['prompt_cache'],
        `only the adapters anthropic and openai can mark what to cache, and the adapter here is ${wire.adapter}`,
      );
    return {
      id,
      name: wire.name ?? id,
      adapter: wire.adapter,
      baseUrl: wire.base_url ?? null,
      apiKeyEnv: wire.api_key_env ?? null,
      timeouts: {
        connectMs: wire.timeouts?.connect_ms ?? 5_000,
        firstByteMs: wire.timeouts?.first_byte_ms ?? 60_000,
        idleMs: wire.timeouts?.idle_ms ?? 30_000,
        totalMs: wire.timeouts?.total_ms ?? 3_600_000,
      },
      circuit: { failures: wire.circuit?.failures ?? 5, openMs: wire.circuit?.open_ms ?? 30_000 },
      dialect: wire.dialect ?? (wire.adapter === 'sandbox' ? sandboxDialect : defaultDialect),
      unsupportedParameters: wire.unsupported_parameters ?? new Set(),
      promptCache: wire.prompt_cache ?? 'off',
      maxConcurrency: wire.max_concurrency ?? 10_000,
    };
  });
}
