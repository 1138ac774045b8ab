/** Parses the arguments of a command. A usage error names the argument at fault. */
import { parseArgs } from 'node:util';
import { isKeyLike } from '../keys/key-format.ts';
import { parseTime } from '../lib/calendar.ts';
import { isUuid } from '../lib/ids.ts';
import { formatMoneyShort, largestAmount, type Money, parseMoney } from '../lib/money.ts';
import { dayMs } from '../lib/time-units.ts';
import { tokenFormat } from '../tokens/token-store.ts';

export class UsageError extends Error {}

export type OptionSpec = Readonly<{ name: string; value: string | null; required?: boolean }>;

export type Arguments = Readonly<{
  positionals: readonly string[];
  text: (name: string) => string | null;
  flag: (name: string) => boolean;
}>;

export function readArguments(
  words: readonly string[],
  options: readonly OptionSpec[],
  positionalNames: readonly string[],
): Arguments {
  rejectNegative(words);
  const { values, positionals } = parseStrictly(words, options);
  for (const { name, required } of options) {
    if (required && values[name] === undefined) throw new UsageError(`--${name} is required.`);
  }
  const required = positionalNames.filter((name) => !name.startsWith('['));
  if (positionals.length < required.length)
    throw new UsageError(`${required[positionals.length]} is missing.`);
  const surplus = positionals[positionalNames.length];
  if (surplus !== undefined) throw new UsageError(`Unexpected argument "${surplus}".`);
  return {
    positionals,
    text: (name) => (typeof values[name] === 'string' ? values[name] : null),
    flag: (name) => values[name] === true,
  };
}

/** Checked first, because `-5` would be parsed as an option. */
function rejectNegative(words: readonly string[]): void {
  const place = words.findIndex((word) => /^-\d+(\.\d+)?$/.test(word));
  if (place < 0) return;
  const before = words[place - 1] ?? '';
  const what = before.startsWith('--') ? before : 'An amount';
  throw new UsageError(`${what} must not be negative, but is "${words[place]}".`);
}

function parseStrictly(words: readonly string[], options: readonly OptionSpec[]) {
  const entries = options.map(
    ({ name, value }) => [name, { type: value === null ? 'boolean' : 'string' }] as const,
  );
  try {
    return parseArgs({
      args: [...words],
      options: Object.fromEntries(entries),
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${message.split(/\n|\. /)[0]?.replace(/\.$/, '')}.`);
  }
}

export function readDollars(text: string, what: string): Money {
  const money = parseMoney(text);
  if (money !== null && money >= 0n && money <= largestAmount) return money;
  throw new UsageError(
    `${what} must be an amount in USD such as 20 or 0.50, with at most 12 decimals and no more than ${formatMoneyShort(largestAmount)}, but is "${text}".`,
  );
}

export function readCount(text: string, what: string, max: number): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > max)
    throw new UsageError(`${what} must be a whole number from 1 to ${max}, but is "${text}".`);
  return count;
}

export function readTime(text: string, what: string): Date {
  const time = parseTime(text);
  if (time !== null) return time;
  throw new UsageError(
    `${what} must be a date or time such as 2027-01-31 or 2027-01-31T12:00:00Z, but is "${text}".`,
  );
}

export function readFutureTime(text: string, what: string): Date {
  const time = readTime(text, what);
  if (time > new Date()) return time;
  throw new UsageError(`${what} must be in the future, but is "${text}". To end a key now, revoke it.`);
}

/** A time in the future, or so many days from now, such as 30d. */
export function readEnd(text: string, what: string): Date {
  const [, days] = /^(\d{1,4})d$/.exec(text) ?? [];
  const end = days === undefined ? parseTime(text) : new Date(Date.now() + Number(days) * dayMs);
  if (end === null)
    throw new UsageError(
      `${what} must be a date, a time or a number of days, such as 2027-01-31, 2027-01-31T12:00:00Z or 30d, but is "${text}".`,
    );
  if (end > new Date()) return end;
  throw new UsageError(`${what} must be in the future, but is "${text}".`);
}

/** From 0 to 100. */
export function readPriority(text: string, what: string): number {
  const priority = /^\d{1,3}$/.test(text) ? Number(text) : -1;
  if (priority >= 0 && priority <= 100) return priority;
  throw new UsageError(`${what} must be a whole number from 0 to 100, but is "${text}".`);
}

export function readOneOf<Word extends string>(text: string, what: string, words: readonly Word[]): Word {
  const word = words.find((candidate) => candidate === text);
  if (word !== undefined) return word;
  throw new UsageError(`${what} must be one of ${words.join(', ')}, but is "${text}".`);
}

export function readLine(text: string, what: string, max: number): string {
  const line = text.trim();
  if (line.length < 1 || line.length > max) throw new UsageError(`${what} must have 1 to ${max} characters.`);
  if (/\p{Cc}/u.test(line)) throw new UsageError(`${what} must not contain control characters.`);
  return line;
}

export function readOptionalLine(text: string | null, what: string, max: number): string | null {
  return text === null ? null : readLine(text, what, max);
}

export function readAccountId(text: string, what: string): string {
  return readUuid(text, what, 'tollgate account list');
}

export function readKeyId(text: string, what: string): string {
  const listing = 'tollgate key list --account ACCOUNT';
  // A key is a secret, so the message does not repeat it.
  if (isKeyLike(text))
    throw new UsageError(`${what} must be the ID of the key, not the key itself. ${listing} shows the IDs.`);
  return readUuid(text, what, listing);
}

export function readLimitId(text: string, what: string): string {
  return readUuid(text, what, 'tollgate limit list --account ACCOUNT');
}

export function readWebhookId(text: string, what: string): string {
  return readUuid(text, what, 'tollgate webhook list');
}

export function readGrantId(text: string, what: string): string {
  return readUuid(text, what, 'tollgate grant list --account ACCOUNT');
}

export function readAllowanceId(text: string, what: string): string {
  return readUuid(text, what, 'tollgate allowance list --account ACCOUNT');
}

export function readTokenId(text: string, what: string): string {
  const listing = 'tollgate token list';
  if (tokenFormat.isLike(text))
    throw new UsageError(
      `${what} must be the ID of the token, not the token itself. ${listing} shows the IDs.`,
    );
  return readUuid(text, what, listing);
}

/** `listing` is the command that lists the IDs. */
function readUuid(text: string, what: string, listing: string): string {
  if (isUuid(text)) return text.toLowerCase();
  throw new UsageError(
    `${what} must be an ID such as 01890a5d-ac96-774b-bcce-b302099a8057, but is "${text}". ${listing} shows the IDs.`,
  );
}
