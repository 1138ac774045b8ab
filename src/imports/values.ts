/** What the values of a row mean, whether they came as texts from a dump or from JSON. */
import { parseBoundedJson } from '../json/bounded.ts';
import { largestAmount, type Money, moneyScaleDigits } from '../lib/money.ts';
import { asObject } from './json-export.ts';
import type { Row } from './rows.ts';

/** Null when it is absent or empty. */
export function textIn(row: Row, name: string): string | null {
  const value = row.get(name);
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}

/** One line that is safe to print and to store: other people chose it. */
export function lineIn(row: Row, name: string, max = 200): string | null {
  return lineOf(textIn(row, name), max);
}

export function lineOf(text: string | null, max = 200): string | null {
  const line = (text ?? '')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ')
    .trim()
    .slice(0, max)
    .trim();
  return line === '' ? null : line;
}

export function isTrue(row: Row, name: string): boolean {
  const value = row.get(name);
  return value === true || value === 1 || (typeof value === 'string' && /^(t|true|1)$/i.test(value));
}

const decimal = /^(-?)(\d{1,60})(?:\.(\d{0,400}))?(?:e([+-]?\d{1,3}))?$/i;

/** Rounded towards zero to what money can express. Null when it is absent, 'unreadable' when it is no number. */
export function amountIn(row: Row, name: string): Money | null | 'unreadable' {
  const text = textIn(row, name);
  return text === null ? null : (amountOf(text) ?? 'unreadable');
}

/** Doubles are written as the shortest decimal that stands for them. */
export function amountOf(text: string): Money | null {
  const match = decimal.exec(text.trim());
  if (match === null) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction);
  const shift = Number(exponent) - fraction.length + moneyScaleDigits;
  const units = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  const bounded = units > largestAmount ? largestAmount : units;
  return sign === '-' ? -bounded : bounded;
}

/** A whole number; null when it is absent, 'unreadable' when it is something else. */
export function countIn(row: Row, name: string): bigint | null | 'unreadable' {
  const text = textIn(row, name);
  if (text === null) return null;
  return /^-?\d{1,18}$/.test(text) ? BigInt(text) : 'unreadable';
}

const timePattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]\d\d(?::?\d\d)?)?$/;

/** Without an offset it is UTC. Null when it is absent, 'unreadable' when it is no time. */
export function timeIn(row: Row, name: string): Date | null | 'unreadable' {
  const text = textIn(row, name);
  if (text === null) return null;
  const match = timePattern.exec(text);
  if (match === null) return 'unreadable';
  const [, day = '', time = '', fraction = '', offset = 'Z'] = match;
  const zone =
    offset === 'Z' ? 'Z' : offset.length === 3 ? `${offset}:00` : offset.replace(/(\d\d)(\d\d)$/, '$1:$2');
  const read = new Date(`${day}T${time}${fraction.slice(0, 4)}${zone}`);
  return Number.isNaN(read.getTime()) ? 'unreadable' : read;
}

/** A list of texts: of JSON, or an array of PostgreSQL. Null when it cannot be read. */
export function listIn(row: Row, name: string): string[] | null {
  const value = row.get(name);
  if (value === null || value === undefined || value === '') return [];
  if (Array.isArray(value)) return value.filter((item) => typeof item === 'string');
  if (typeof value !== 'string') return null;
  if (value.startsWith('{')) return arrayOf(value);
  const parsed = jsonOf(value);
  return Array.isArray(parsed) ? parsed.filter((item) => typeof item === 'string') : null;
}

const element = /\s*(?:"((?:[^"\\]|\\.)*)"|([^,{}"\\\s][^,{}"\\]*))\s*(,|\}$)/suy;

/** The text form of a one-dimensional array, such as {a,"b c"}. */
export function arrayOf(text: string): string[] | null {
  if (/^\{\s*\}$/.test(text)) return [];
  const items: string[] = [];
  element.lastIndex = 1;
  for (;;) {
    const match = element.exec(text);
    if (match === null) return null;
    const [, quoted, plain, after] = match;
    if (quoted !== undefined) items.push(quoted.replaceAll(/\\(.)/gsu, '$1'));
    else if (plain !== undefined && plain !== 'NULL') items.push(plain.trim());
    if (after !== ',') return items;
  }
}

/** JSON in a column, or as it is in a JSON file. Null also for what cannot be parsed. */
export function jsonIn(row: Row, name: string): unknown {
  const value = row.get(name);
  return typeof value === 'string' ? jsonOf(value) : (value ?? null);
}

const limits = { values: 1_000_000, depth: 40, keys: 100_000 };

function jsonOf(text: string): unknown {
  try {
    return parseBoundedJson(text, limits).value;
  } catch {
    return null;
  }
}

/** Whether a column has anything in it: neither null nor an empty text, list or object. */
export function isSet(row: Row, name: string): boolean {
  const value = row.get(name);
  if (typeof value === 'string') return !/^\s*(|null|\{\s*\}|\[\s*\])\s*$/.test(value);
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return (asObject(value)?.size ?? 0) > 0;
  return value !== null && value !== undefined && value !== false;
}
