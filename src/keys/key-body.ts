/** The settings of a key as clients send them, to the dashboard's API and to the admin API. */
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { amountFrom, bodyOf, converted } from '../json/fields.ts';
import { listOf } from '../json/list.ts';
import { formatPath, type JsonPath } from '../json/path.ts';
import { parseBody } from '../json/problem.ts';
import { parseTime } from '../lib/calendar.ts';
import {
  defaultMaxConcurrent,
  defaultRequestsPerMinute,
  type KeyChange,
  type KeySettings,
  maxConcurrentLimit,
  maxRequestsPerMinute,
} from './key-store.ts';

const nameWords = 'a name of 1 to 200 characters without control characters';
const rateWords = `a whole number from 1 to ${maxRequestsPerMinute}`;
const concurrencyWords = `a whole number from 1 to ${maxConcurrentLimit}`;
const modelWords = 'the ID of a model';
const maxModels = 200;

const name = z
  .string(nameWords)
  .trim()
  .regex(/^\P{Cc}{1,200}$/u, nameWords);
const models = listOf(
  z.string(modelWords).min(1, modelWords),
  `a list of 1 to ${maxModels} model IDs, or null for every model`,
  { min: 1, max: maxModels },
);
const time = converted('a time such as "2027-01-31T12:00:00Z", or null', parseTime).nullable();

const settingsShape = {
  requests_per_minute: z.int(rateWords).min(1, rateWords).max(maxRequestsPerMinute, rateWords).optional(),
  max_concurrent: z
    .int(concurrencyWords)
    .min(1, concurrencyWords)
    .max(maxConcurrentLimit, concurrencyWords)
    .optional(),
  monthly_limit: amountFrom(0n, ', or null').nullable().optional(),
  allowed_models: z.optional(z.nullable(models)),
  expires_at: time.optional(),
};
export const keyDraftSchema = bodyOf({ name, ...settingsShape });
export const keyChangeSchema = bodyOf({ name: name.optional(), ...settingsShape });
export const replacementSchema = bodyOf({ revoke_at: time });

type WireSettings = Omit<z.output<typeof keyDraftSchema>, 'name'>;

export function parseKeyDraft(body: unknown, now: Date): KeySettings {
  return keyDraftOf(parseBody(keyDraftSchema, body), now);
}

export function keyDraftOf(draft: z.output<typeof keyDraftSchema>, now: Date): KeySettings {
  const { name: chosen, ...wire } = draft;
  const settings = settingsIn(wire, now);
  return {
    name: chosen,
    requestsPerMinute: settings.requestsPerMinute ?? defaultRequestsPerMinute,
    maxConcurrent: settings.maxConcurrent ?? defaultMaxConcurrent,
    monthlyLimit: settings.monthlyLimit ?? null,
    allowedModels: settings.allowedModels ?? null,
    expiresAt: settings.expiresAt ?? null,
  };
}

export function parseKeyChange(body: unknown, now: Date): KeyChange {
  return keyChangeOf(parseBody(keyChangeSchema, body), now);
}

export function keyChangeOf(change: z.output<typeof keyChangeSchema>, now: Date): KeyChange {
  const { name: chosen, ...wire } = change;
  return { name: chosen, ...settingsIn(wire, now) };
}

/** When the old key ends; null for now. */
export function parseReplacement(body: unknown, now: Date): Date | null {
  return replacementOf(parseBody(replacementSchema, body), now);
}

export function replacementOf(
  { revoke_at: revokeAt }: z.output<typeof replacementSchema>,
  now: Date,
): Date | null {
  requireOverlap(revokeAt, now);
  return revokeAt;
}

/** Null removes a limit; undefined leaves it as it is. */
function settingsIn(wire: WireSettings, now: Date) {
  const { allowed_models: allowedModels, expires_at: expiresAt } = wire;
  const repeated = allowedModels?.findIndex((model, index) => allowedModels.indexOf(model) !== index) ?? -1;
  if (repeated >= 0) throw invalid(['allowed_models', repeated], 'This model is already on the list.');
  if (expiresAt && expiresAt <= now)
    throw invalid(['expires_at'], 'A key can only expire in the future. To end it now, revoke it.');
  return {
    requestsPerMinute: wire.requests_per_minute,
    maxConcurrent: wire.max_concurrent,
    monthlyLimit: wire.monthly_limit,
    allowedModels,
    expiresAt,
  };
}

const maxOverlapMs = 30 * 24 * 60 * 60 * 1000;

function requireOverlap(revokeAt: Date | null, now: Date): void {
  if (revokeAt === null) return;
  const aheadMs = revokeAt.getTime() - now.getTime();
  if (aheadMs < 0) throw invalid(['revoke_at'], 'The old key cannot end in the past. Null ends it now.');
  if (aheadMs > maxOverlapMs)
    throw invalid(['revoke_at'], 'The old key must end within 30 days. Replace it later instead.');
}

/** A misspelt ID would allow nothing, and be noticed only when a request is rejected. */
export function requireKnownModels(ids: readonly string[] | null, isKnown: (id: string) => boolean): void {
  const place = ids?.findIndex((id) => !isKnown(id)) ?? -1;
  if (place >= 0) throw invalid(['allowed_models', place], 'The catalogue has no model with this ID.');
}

function invalid(path: JsonPath, message: string): ApiError {
  return new ApiError('invalid_parameter', { param: formatPath(path), message });
}
