/** A settlement as a line of text, in the spool and among the dead letters. */
import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import type { Settlement } from './operations.ts';
import { lossOf } from './settlement.ts';

/** Amounts are the only numbers that JSON cannot hold, so they are written as text with a mark. */
export function serializeSettlement(settlement: Settlement): string {
  return JSON.stringify(settlement, (_name, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  );
}

/** Null for what is none: a line that a crash cut short, or that something else wrote or changed. */
export function parseSettlement(line: string): Settlement | null {
  try {
    return settlementSchema.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}

const money = z
  .string()
  .regex(/^-?\d{1,38}n$/)
  .transform((text) => BigInt(text.slice(0, -1)));
const count = z.int().min(0);
const errorCode = z
  .string()
  .transform((code) => code as ErrorCode)
  .nullable();
const lossReason = z.enum(['usage_missing', 'interrupted', 'implausible_usage']);

/** What later versions have added has a default, because an earlier one may have written the line. */
const settlementSchema: z.ZodType<Settlement> = z.object({
  kind: z.literal('settle'),
  generation: z.object({
    id: z.uuid(),
    accountId: z.uuid(),
    keyId: z.uuid(),
    workload: z.string(),
    model: z.string(),
    streaming: z.boolean(),
    priceListId: z.int(),
    claimedName: z.string().nullable().default(null),
    createdAtMs: z.number(),
  }),
  provider: z.string(),
  status: z.enum(['completed', 'failed', 'cancelled']),
  errorCode,
  usage: z
    .object({
      inputTokens: count,
      outputTokens: count,
      units: count,
      unit: z.enum(['tokens', 'images']),
      tier: z.string().nullable(),
    })
    .nullable(),
  cost: z.object({ input: money, output: money, total: money }).nullable(),
  isEstimated: z.boolean().default(false),
  whenShort: z.enum(['withhold', 'write_off']),
  whenCharged: z.enum(['stands', 'refund']).default('stands'),
  loss: z
    .union([
      lossReason.transform(lossOf),
      z.object({
        reason: lossReason,
        amount: money.nullable(),
        reported: z.object({ inputTokens: count, outputTokens: count }).nullable(),
      }),
    ])
    .nullable(),
  attempts: z.array(
    z.object({
      index: z.int(),
      provider: z.string(),
      status: z.enum(['in_progress', 'succeeded', 'failed', 'cancelled']),
      startedAtMs: z.number(),
      completedAtMs: z.number().nullable(),
      upstreamStatus: z.int().nullable(),
      errorCode,
    }),
  ),
  kept: z
    .object({ name: z.string(), whole: z.string(), whenShort: z.string().nullable() })
    .nullable()
    .default(null),
  completedAtMs: z.number(),
  latencyMs: z.number(),
  timeToFirstTokenMs: z.number().nullable(),
});
