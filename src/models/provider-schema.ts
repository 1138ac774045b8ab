/** Reads a provider of the catalogue. */

import type { z } from 'zod';
import { type Money, parseMoney } from '../lib/money.ts';
import { dayMs } from '../lib/time-units.ts';
import { type EndUserField, endUserFields } from '../providers/end-user.ts';
import { type Dialect, defaultDialect } from '../providers/upstream.ts';
import {
  field,
  fields,
  matching,
  mismatch,
  namedEntries,
  oneOf,
  plainText,
  report,
  trueOrFalse,
  wholeNumber,
  withoutRepeats,
} from './fields.ts';
import { type Adapter, adapters, type CostReport, optionalParameters, type Provider } from './model.ts';

export const providerId = matching(
  /^[A-Za-z0-9_][\w.-]{0,63}$/,
  'a provider ID of letters, digits, ., - and _, of at most 64 characters',
);

const milliseconds = wholeNumber(1, dayMs).optional();

const baseUrlExpectation = 'an http or https address without credentials, query or fragment';
const baseUrl = field<string>((input) => {
  const url = typeof input === 'string' && !/[\s\\]/.test(input) ? URL.parse(input) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return { expected: baseUrlExpectation, isSecret: true };
  const isBare = url.username === '' && url.password === '' && !/[?#]/.test(url.href);
  return isBare ? { value: url.href.replace(/\/+$/, '') } : { expected: baseUrlExpectation, isSecret: true };
});

const keyVariable = field<string>((input) =>
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
  reasoning: oneOf('none', 'reasoning_content').optional(),
}).transform(
  (wire): Dialect => ({
    maxTokens: wire.max_tokens ?? defaultDialect.maxTokens,
    seed: wire.seed ?? defaultDialect.seed,
    streamUsage: wire.stream_usage ?? defaultDialect.streamUsage,
    images: wire.images ?? defaultDialect.images,
    strictTools: wire.strict_tools ?? defaultDialect.strictTools,
    cacheKey: wire.cache_key ?? defaultDialect.cacheKey,
    reasoning: wire.reasoning ?? defaultDialect.reasoning,
  }),
);

/** The sandbox makes up arguments from the schema, so its calls always match it. */
const sandboxDialect: Dialect = { ...defaultDialect, strictTools: 'supported' };

const reportId = matching(/^[\w.:-]{1,100}$/, 'an ID such as proj_123, of at most 100 characters');
const reportIds = withoutRepeats('IDs', reportId);

/** Up to 12 decimals, in quotes: unquoted, it would already be a float. */
const smallDecimal = field<Money>((input) => {
  const value = typeof input === 'string' && /^\d{1,6}(\.\d+)?$/.test(input) ? parseMoney(input) : null;
  return value === null ? { expected: 'a decimal in quotes such as "0.01"' } : { value };
});

const costReportFields = fields({
  base_url: baseUrl.optional(),
  project_ids: reportIds.optional(),
  workspace_ids: reportIds.optional(),
  api_key_ids: reportIds.optional(),
  models: namedEntries('names on the bill to upstream models', plainText(200), plainText(200)).optional(),
  tolerance: fields({ usd: smallDecimal.optional(), percent: smallDecimal.optional() }).optional(),
});

const providerFields = fields({
  name: plainText(100).optional(),
  adapter: oneOf(...adapters),
  base_url: baseUrl.optional(),
  api_key_env: keyVariable.optional(),
  admin_key_env: keyVariable.optional(),
  cost_report: costReportFields.optional(),
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
  end_user_id: oneOf('none', ...endUserFields).optional(),
  max_concurrency: wholeNumber(1, 100_000).optional(),
  hold_first: trueOrFalse.optional(),
});

/** Which filters the report of a vendor has. */
const filtersOf: Readonly<Partial<Record<Adapter, readonly string[]>>> = {
  openai: ['project_ids', 'api_key_ids'],
  anthropic: ['workspace_ids', 'api_key_ids'],
};

/** A cent a day and a thousandth: providers round differently, but not by more. */
const defaultTolerance = { amount: 10_000_000_000n, percent: 100_000_000_000n };

type ReportWire = Pick<z.output<typeof providerFields>, 'adapter' | 'admin_key_env' | 'cost_report'>;

function readCostReport(wire: ReportWire, context: z.core.$RefinementCtx): CostReport {
  const { adapter, admin_key_env: adminKeyEnv = null, cost_report: given = {} } = wire;
  const filters = filtersOf[adapter];
  if (adminKeyEnv !== null && filters === undefined)
    report(
      context,
      ['admin_key_env'],
      `only providers with the adapter openai or anthropic have a report of costs, and the adapter here is ${adapter}`,
    );
  for (const name of ['project_ids', 'workspace_ids', 'api_key_ids'] as const) {
    if (given[name] !== undefined && !filters?.includes(name))
      report(context, ['cost_report', name], `the report of ${adapter} cannot be filtered by ${name}`);
  }
  return {
    adminKeyEnv,
    baseUrl: given.base_url ?? null,
    projectIds: given.project_ids ?? [],
    workspaceIds: given.workspace_ids ?? [],
    apiKeyIds: given.api_key_ids ?? [],
    models: given.models ?? new Map(),
    tolerance: {
      amount: given.tolerance?.usd ?? defaultTolerance.amount,
      percent: given.tolerance?.percent ?? defaultTolerance.percent,
    },
  };
}

/** Which fields a format has. */
const endUserFieldsOf: Readonly<Partial<Record<Adapter, readonly EndUserField[]>>> = {
  openai: ['safety_identifier', 'user'],
  anthropic: ['metadata.user_id'],
};

type EndUserWire = Pick<z.output<typeof providerFields>, 'adapter' | 'base_url' | 'end_user_id'>;

/** Others that speak the same format may reject the field, so without a setting only the vendors themselves get it. */
function readEndUserField(wire: EndUserWire, context: z.core.$RefinementCtx): EndUserField | null {
  const { adapter, base_url: baseUrl = '', end_user_id: given } = wire;
  const fields = endUserFieldsOf[adapter] ?? [];
  if (given === undefined) return isVendor(adapter, baseUrl) ? (fields[0] ?? null) : null;
  if (given === 'none') return null;
  if (!fields.includes(given))
    report(
      context,
      ['end_user_id'],
      `the adapter ${adapter} has no field ${given}: expected ${['none', ...fields].join(' or ')}`,
    );
  return given;
}

function isVendor(adapter: Adapter, baseUrl: string): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? '';
  const vendor = `api.${adapter}.com`;
  return host === vendor || host.endsWith(`.${vendor}`);
}

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
      endUserField: readEndUserField(wire, context),
      maxConcurrency: wire.max_concurrency ?? 10_000,
      holdsFirst: wire.hold_first ?? false,
      costReport: readCostReport(wire, context),
    };
  });
}
