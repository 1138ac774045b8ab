/** Unknown JSON becomes the settings of a key, or a refusal that names the field. Nothing is clamped, nothing ignored. */
import { z } from 'zod';
import { ApiError } from '../../errors.ts';
import { listOf } from '../../http/json-list.ts';
import { formatPath, type JsonPath } from '../../http/json-path.ts';
import { parseBody } from '../../http/problem.ts';
import {
  defaultMaxConcurrent,
  defaultRequestsPerMinute,
  mostMaxConcurrent,
  mostRequestsPerMinute,
} from '../../keys/key-store.ts';
import { parseTime } from '../../lib/calendar.ts';
import { largestAmount, type Money, parseMoney } from '../../lib/money.ts';

export type KeySettings = Readonly<{
  name: string;
  requestsPerMinute: number;
  maxConcurrent: number;
  monthlyLimit: Money | null;
  /** Null allows every model. */
  allowedModels: readonly string[] | null;
  expiresAt: Date | null;
}>;

const nameWords = 'a name of 1 to 200 characters without control characters';
const rateWords = `a whole number from 1 to ${mostRequestsPerMinute}`;
const concurrencyWords = `a whole number from 1 to ${mostMaxConcurrent}`;
const limitWords =
  'an amount in USD such as "20" or "0.50", not negative, with at most 12 decimals and not above 1000000000000, or null';
const modelsWords = 'a list of 1 to 200 model IDs, or null for every model';
const timeWords = 'a time such as "2027-01-31T12:00:00Z", or null';

const mostModels = 200;
const longestOverlapMs = 30 * 24 * 60 * 60 * 1000;

const name = z
  .string(nameWords)
  .trim()
  .regex(/^\P{Cc}{1,200}$/u, nameWords);
const requestsPerMinute = z.int(rateWords).min(1, rateWords).max(mostRequestsPerMinute, rateWords);
const maxConcurrent = z
  .int(concurrencyWords)
  .min(1, concurrencyWords)
  .max(mostMaxConcurrent, concurrencyWords);
const monthlyLimit = z.nullable(converted(limitWords, parseLimit));
const allowedModels = z.nullable(
  listOf(z.string('the ID of a model').min(1, 'the ID of a model'), modelsWords, {
    least: 1,
    most: mostModels,
  }),
);
const time = z.nullable(converted(timeWords, parseTime));

const settingsSchema = {
  requests_per_minute: requestsPerMinute.optional(),
  max_concurrent: maxConcurrent.optional(),
  monthly_limit: monthlyLimit.optional(),
  allowed_models: z.optional(allowedModels),
  expires_at: time.optional(),
};
const draftSchema = z.strictObject({ name, ...settingsSchema }, 'a JSON object');
const changeSchema = z.strictObject({ name: name.optional(), ...settingsSchema }, 'a JSON object');
const replacementSchema = z.strictObject({ revoke_at: time }, 'a JSON object');
const nothingSchema = z.strictObject({}, 'a JSON object');

export function parseKeyDraft(body: unknown, now: Date): KeySettings {
  const wire = parseBody(draftSchema, body);
  refuseRepeated(wire.allowed_models ?? []);
  refusePast(wire.expires_at ?? null, now);
  return {
    name: wire.name,
    requestsPerMinute: wire.requests_per_minute ?? defaultRequestsPerMinute,
    maxConcurrent: wire.max_concurrent ?? defaultMaxConcurrent,
    monthlyLimit: wire.monthly_limit ?? null,
    allowedModels: wire.allowed_models ?? null,
    expiresAt: wire.expires_at ?? null,
  };
}

/** Only what the body names: null takes a limit away, what is left out stays. */
export function parseKeyChange(body: unknown, now: Date): Partial<KeySettings> {
  const wire = parseBody(changeSchema, body);
  refuseRepeated(wire.allowed_models ?? []);
  refusePast(wire.expires_at ?? null, now);
  return {
    ...(wire.name === undefined ? {} : { name: wire.name }),
    ...(wire.requests_per_minute === undefined ? {} : { requestsPerMinute: wire.requests_per_minute }),
    ...(wire.max_concurrent === undefined ? {} : { maxConcurrent: wire.max_concurrent }),
    ...(wire.monthly_limit === undefined ? {} : { monthlyLimit: wire.monthly_limit }),
    ...(wire.allowed_models === undefined ? {} : { allowedModels: wire.allowed_models }),
    ...(wire.expires_at === undefined ? {} : { expiresAt: wire.expires_at }),
  };
}

/** When the old key ends; null is now. */
export function parseReplacement(body: unknown, now: Date): Date | null {
  const { revoke_at: revokeAt } = parseBody(replacementSchema, body);
  if (revokeAt === null) return null;
  const aheadMs = revokeAt.getTime() - now.getTime();
  if (aheadMs < 0) throw invalid(['revoke_at'], 'The old key cannot end in the past. Null ends it now.');
  if (aheadMs > longestOverlapMs)
    throw invalid(['revoke_at'], 'The old key must end within 30 days. Replace it later instead.');
  return revokeAt;
}

/** For what takes no settings at all. */
export function parseNothing(body: unknown): void {
  parseBody(nothingSchema, body);
}

/** A misspelt ID would allow nothing, and be noticed only when a request is refused. */
export function refuseUnknownModels(models: readonly string[], isKnown: (id: string) => boolean): void {
  const place = models.findIndex((model) => !isKnown(model));
  if (place >= 0) throw invalid(['allowed_models', place], 'The catalogue has no model with this ID.');
}

function converted<Value>(expected: string, convert: (text: string) => Value | null) {
  return z.string(expected).transform((input, context) => {
    const value = convert(input);
    if (value !== null) return value;
    context.issues.push({ code: 'custom', message: expected, input });
    return z.NEVER;
  });
}

function parseLimit(text: string): Money | null {
  const money = parseMoney(text);
  return money !== null && money >= 0n && money <= largestAmount ? money : null;
}

function refuseRepeated(models: readonly string[]): void {
  const place = models.findIndex((model, index) => models.indexOf(model) !== index);
  if (place >= 0) throw invalid(['allowed_models', place], 'This model is on the list already.');
}

function refusePast(expiresAt: Date | null, now: Date): void {
  if (expiresAt !== null && expiresAt <= now)
    throw invalid(['expires_at'], 'A key can only expire in the future. To end it now, revoke it.');
}

function invalid(path: JsonPath, message: string): ApiError {
  return new ApiError('invalid_parameter', { param: formatPath(path), message });
}
