/** Builds settlements, and serializes them for the spool and the dead letters. */
import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import {
  type AppliedLimits,
  type Attempt,
  type BilledCost,
  type BilledUsage,
  type GenerationFacts,
  type GrantedTokens,
  type Loss,
  limitKinds,
  type ProviderUsage,
  type Settlement,
} from './operations.ts';

export type Charge = Readonly<{
  usage: BilledUsage;
  cost: BilledCost;
  /** What the provider says was used, of which not everything may be charged, and what it asks for that. */
  reported: ProviderUsage;
  loss: Loss | null;
}>;

/** The provider reported nothing. */
export const unknownUsage: ProviderUsage = { usage: null, cost: null };

/** How a Generation ended, before it is known whether the balance covers it. */
export type Ending = Pick<
  Settlement,
  | 'status'
  | 'errorCode'
  | 'usage'
  | 'cost'
  | 'providerCost'
  | 'isEstimated'
  | 'onInsufficientBalance'
  | 'onAlreadyCharged'
  | 'loss'
  | 'stored'
>;

/** What is known about a Generation however it ends. */
export type EndedGeneration = Readonly<{
  generation: GenerationFacts;
  isHeld: boolean;
  provider: string;
  attempts: readonly Attempt[];
  firstTokenAtMs?: number | null;
  finishReason?: string | null | undefined;
  /** How many tokens were counted towards limits. */
  tokens?: GrantedTokens | null;
}>;

export function settlementOf(facts: EndedGeneration, ending: Ending): Settlement {
  const {
    generation,
    isHeld,
    provider,
    attempts,
    finishReason,
    firstTokenAtMs = null,
    tokens = null,
  } = facts;
  const completedAtMs = Date.now();
  return {
    kind: 'settle',
    generation,
    isHeld,
    provider,
    attempts,
    ...ending,
    finishReason,
    ...(tokens === null ? {} : { unusedTokens: unusedOf(tokens, ending.usage) }),
    completedAtMs,
    latencyMs: completedAtMs - generation.createdAtMs,
    timeToFirstTokenMs: firstTokenAtMs === null ? null : firstTokenAtMs - generation.createdAtMs,
  };
}

/** Images are not counted in tokens. */
function unusedOf(
  { count, countedAtMs }: GrantedTokens,
  usage: BilledUsage | null,
): NonNullable<Settlement['unusedTokens']> {
  const used = usage === null ? 0 : usage.inputTokens + usage.outputTokens;
  return { count: Math.max(0, count - used), countedAtMs };
}

/** When the balance does not cover the charge, the response is withheld, or the charge written off if it was delivered. */
export function completed(
  { usage, cost, reported, loss }: Charge,
  status: 'completed' | 'cancelled',
  onInsufficientBalance: Ending['onInsufficientBalance'],
  stored: Ending['stored'],
): Ending {
  return {
    status,
    errorCode: null,
    usage,
    cost,
    providerCost: reported.cost,
    isEstimated: false,
    onInsufficientBalance,
    onAlreadyCharged: 'stands',
    loss,
    stored,
  };
}

/** Nothing is charged for a failure. Usage that may have been lost with it is recorded for the operator. */
export function failure(errorCode: ErrorCode, lossReason: Loss['reason'] | null = null): Ending {
  return {
    status: 'failed',
    errorCode,
    usage: null,
    cost: null,
    providerCost: null,
    isEstimated: false,
    onInsufficientBalance: 'withhold',
    onAlreadyCharged: 'stands',
    loss: lossReason === null ? null : lossOf(lossReason),
    stored: null,
  };
}

export function lossOf(reason: Loss['reason']): Loss {
  return { reason, amount: null, reported: null, counts: null };
}

/** For a response that was not delivered: nothing is charged, and a charge this process did not know of is refunded. */
export function withheld(settlement: Settlement): Settlement {
  const { onAlreadyCharged } = settlement;
  return settlementOf(settlement, {
    ...failure('billing_consistency_error', 'interrupted'),
    onAlreadyCharged: onAlreadyCharged === 'stands' ? 'refund' : onAlreadyCharged,
  });
}

/** Replaces a settlement that the database rejects, without anything that could be the cause. */
export function closedUnbilled({ generation, isHeld, provider }: Settlement): Settlement {
  return settlementOf(
    { generation, isHeld, provider, attempts: [] },
    failure('billing_consistency_error', 'interrupted'),
  );
}

export function serializeSettlement(settlement: Settlement): string {
  return JSON.stringify(settlement, withAmountsAsText);
}

/** For the row of an open Generation. Only attempts that failed before the last one can have an amount. */
export function serializeAttempts(attempts: readonly unknown[]): string {
  return attempts.length > 1 ? JSON.stringify(attempts, withAmountsAsText) : JSON.stringify(attempts);
}

/** None if they cannot be read: the Generation has to be closed all the same. */
export function parseAttempts(stored: unknown): readonly Attempt[] {
  return attemptsSchema.safeParse(stored).data ?? [];
}

/** None if they cannot be read. */
export function parseLimits(stored: unknown): AppliedLimits | null {
  return appliedLimitsSchema.safeParse(stored).data ?? null;
}

/** JSON has no big integers, so amounts are written as strings that end in n. */
function withAmountsAsText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}

/** Null for a line that is not a settlement: it may have been cut short by a crash, or changed. */
export function parseSettlement(line: string): Settlement | null {
  try {
    return settlementSchema.safeParse(JSON.parse(line, withCurrentNames)).data ?? null;
  } catch {
    return null;
  }
}

/** Field names of version 0.1, by the field that contains them. */
const formerNames = new Map([
  [
    '',
    new Map([
      ['whenShort', 'onInsufficientBalance'],
      ['whenCharged', 'onAlreadyCharged'],
      ['kept', 'stored'],
    ]),
  ],
  ['generation', new Map([['claimedName', 'idempotencyHash']])],
  [
    'kept',
    new Map([
      ['name', 'idempotencyHash'],
      ['whole', 'response'],
      ['whenShort', 'insufficientBalanceResponse'],
    ]),
  ],
]);

function withCurrentNames(field: string, value: unknown): unknown {
  const names = formerNames.get(field);
  if (names === undefined || value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [names.get(name) ?? name, of]));
}

const money = z
  .string()
  .regex(/^-?\d{1,38}n$/)
  .transform((text) => BigInt(text.slice(0, -1)));
const count = z.int().min(0);
const cachedTokens = z.object({ read: count, write: count, writeLong: count });
const cachedCost = z.object({ read: money, write: money, writeLong: money, saved: money });
const errorCode = z
  .string()
  .transform((code) => code as ErrorCode)
  .nullable();
const lossReason = z.enum(['usage_missing', 'interrupted', 'implausible_usage']);

const appliedLimitsSchema: z.ZodType<AppliedLimits> = z.object({
  version: z.int(),
  meters: z.array(
    z.object({
      // That of an end user is a hash, and no UUID of any version.
      id: z.guid(),
      limitId: z.uuid(),
      kind: z.enum(limitKinds),
      scope: z.enum(['account', 'key', 'end_user', 'each_end_user']),
      endUser: z.string().nullable(),
    }),
  ),
});

const attemptsSchema: z.ZodType<Attempt[]> = z.array(
  z.object({
    index: z.int(),
    provider: z.string(),
    status: z.enum(['in_progress', 'succeeded', 'failed', 'cancelled']),
    startedAtMs: z.number(),
    completedAtMs: z.number().nullable(),
    upstreamStatus: z.int().nullable(),
    errorCode,
    uncharged: z
      .object({
        usage: z
          .object({ inputTokens: count, outputTokens: count, cached: cachedTokens.nullable() })
          .nullable(),
        cost: money.nullable(),
      })
      .nullable()
      .default(null),
  }),
);

/** Fields that were added later have defaults, because an earlier version may have written the line. */
const settlementSchema: z.ZodType<Settlement> = z.object({
  kind: z.literal('settle'),
  generation: z.object({
    id: z.uuid(),
    accountId: z.uuid(),
    keyId: z.uuid(),
    workload: z.string(),
    api: z.string().nullish(),
    model: z.string(),
    streaming: z.boolean(),
    priceListId: z.int(),
    idempotencyHash: z.string().nullable().default(null),
    createdAtMs: z.number(),
    attribution: z
      .object({
        endUser: z.string().nullable(),
        session: z.string().nullable(),
        tags: z.array(z.tuple([z.string(), z.string()])),
      })
      .nullish(),
    limits: appliedLimitsSchema.nullish(),
  }),
  isHeld: z.boolean().default(false),
  provider: z.string(),
  status: z.enum(['completed', 'failed', 'cancelled']),
  errorCode,
  usage: z
    .object({
      inputTokens: count,
      outputTokens: count,
      cached: cachedTokens.nullable().default(null),
      units: count,
      unit: z.enum(['tokens', 'images']),
      tier: z.string().nullable(),
    })
    .nullable(),
  cost: z
    .object({ input: money, output: money, total: money, cached: cachedCost.nullable().default(null) })
    .nullable(),
  providerCost: money.nullable().default(null),
  isEstimated: z.boolean().default(false),
  onInsufficientBalance: z.enum(['withhold', 'write_off']),
  onAlreadyCharged: z.enum(['stands', 'refund', 'refund_unless_stored']).default('stands'),
  loss: z
    .union([
      lossReason.transform(lossOf),
      z.object({
        reason: lossReason,
        amount: money.nullable(),
        reported: z.object({ inputTokens: count, outputTokens: count }).nullable(),
        counts: z.record(z.string(), z.number().nullable()).nullable().default(null),
      }),
    ])
    .nullable(),
  attempts: attemptsSchema,
  finishReason: z.string().nullish(),
  stored: z
    .object({
      idempotencyHash: z.string(),
      response: z.string(),
      insufficientBalanceResponse: z.string().nullable(),
    })
    .nullable()
    .default(null),
  completedAtMs: z.number(),
  latencyMs: z.number(),
  timeToFirstTokenMs: z.number().nullable(),
});
