/** Reads the words behind a command. Whatever does not fit is a usage error that names the word. */
import { parseArgs } from 'node:util';
import { type Money, parseMoney } from '../lib/money.ts';

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
  const { values, positionals } = parseStrictly(words, options);
  for (const { name, required } of options) {
    if (required && values[name] === undefined) throw new UsageError(`--${name} is required.`);
  }
  const required = positionalNames.filter((name) => !name.startsWith('['));
  if (positionals.length < required.length)
    throw new UsageError(`${required[positionals.length]} is missing.`);
  const surplus = positionals[positionalNames.length];
  if (surplus !== undefined) throw new UsageError(`"${surplus}" is one word too many.`);
  return {
    positionals,
    text: (name) => (typeof values[name] === 'string' ? values[name] : null),
    flag: (name) => values[name] === true,
  };
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

const mostDollars = 10n ** 24n;

export function readDollars(text: string, what: string): Money {
  const money = parseMoney(text);
  if (money === null || money < 0n || money > mostDollars) {
    throw new UsageError(
      `${what} must be an amount of USD such as 20 or 0.50, with at most 12 decimals, but is "${text}".`,
    );
  }
  return money;
}

export function readCount(text: string, what: string, most: number): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > most)
    throw new UsageError(`${what} must be a whole number from 1 to ${most}, but is "${text}".`);
  return count;
}

export function readTime(text: string, what: string): Date {
  const isIso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const time = new Date(isIso ? text : Number.NaN);
  if (Number.isNaN(time.getTime()))
    throw new UsageError(
      `${what} must be a date or time such as 2027-01-31 or 2027-01-31T12:00:00Z, but is "${text}".`,
    );
  return time;
}

export function readUuid(text: string, what: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text.toLowerCase();
  throw new UsageError(
    `${what} must be an ID such as 01890a5d-ac96-774b-bcce-b302099a8057, but is "${text}".`,
  );
}
