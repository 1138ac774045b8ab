/**
 * The rows that the ledger passes to its functions in PostgreSQL, as literals of the composite types that
 * the migrations declare. A column is named once here and once there,
 * in the same order, and a test compares the two. Arrays of composites cost PostgreSQL half as much as JSON.
 */
import { type Money, moneyScaleDigits } from '../lib/money.ts';
import { serializeAttempts } from './settlement.ts';

/** Formats a value as a field of a composite inside an array. An empty field is null. */
type Column<Value> = (value: Value) => string;

const number: Column<number> = (value) => `${value}`;
const bigint: Column<bigint> = (value) => `${value}`;
const boolean: Column<boolean> = (value) => `${value}`;
/** An ID or one of our own keywords, which need no quotes. */
const word: Column<string> = (value) => value;
const text: Column<string> = quote;
const json: Column<unknown> = (value) => quote(JSON.stringify(value));
const attemptList: Column<readonly unknown[]> = (value) => quote(serializeAttempts(value));
/** In units, with an exponent that converts them to USD: exact, and cheaper than placing a decimal point. */
const money: Column<Money> = (value) => value + amountExponent;
const amountExponent = `e-${moneyScaleDigits}`;

/** A column that may be null. */
function optional<Value>(write: Column<Value>): Column<Value | null | undefined> {
  return write as Column<Value | null | undefined>;
}

const needsNoQuotes = /^[\w.:/@-]+$/;

/** Quotes are doubled inside a composite, and everything is escaped once more because it is inside an array. */
function quote(value: string): string {
  if (needsNoQuotes.test(value)) return value;
  return `\\"${value.replaceAll('\\', '\\\\\\\\').replaceAll('"', '\\"\\"')}\\"`;
}

type Columns = Readonly<Record<string, Column<never>>>;

export class RowType<Named extends Columns> {
  readonly name: string;
  readonly columnNames: readonly string[];
  readonly #columns: readonly Column<unknown>[];

  constructor(name: string, columns: Named) {
    this.name = name;
    this.columnNames = Object.keys(columns);
    this.#columns = Object.values(columns) as Column<unknown>[];
  }

  /** An array literal for PostgreSQL; null without rows. */
  literal(rows: readonly RowOf<RowType<Named>>[]): string | null {
    const [first, ...others] = rows;
    if (first === undefined) return null;
    let elements = this.#element(first);
    for (const row of others) elements += `,${this.#element(row)}`;
    return `{${elements}}`;
  }

  /** One of the longest loops of a request, so it is a plain one. */
  #element(row: Readonly<Record<string, unknown>>): string {
    const { columnNames } = this;
    const columns = this.#columns;
    let fields = '';
    for (let index = 0; index < columns.length; index += 1) {
      if (index > 0) fields += ',';
      const value = row[columnNames[index] as string];
      if (value !== null && value !== undefined) fields += (columns[index] as Column<unknown>)(value);
    }
    return `"(${fields})"`;
  }
}

export type RowOf<Type> =
  Type extends RowType<infer Named> ? { readonly [Name in keyof Named]: Parameters<Named[Name]>[0] } : never;

/** What is added to a row of accounts, and what it must have for that. */
export const accountDeltas = new RowType('ledger_account_delta', {
  id: word,
  balance: money,
  held: money,
  entryCount: bigint,
  isAdmitting: boolean,
  free: optional(money),
});

/** The same for a row of api_key_meters. */
export const keyDeltas = new RowType('ledger_key_delta', {
  keyId: word,
  held: money,
  monthSpent: money,
  openCount: number,
  arrivals: number,
  isAdmitting: boolean,
  left: optional(money),
  open: number,
});

/** What is added to a row of limit_meters, and what must be left of its limit. */
export const limitDeltas = new RowType('ledger_limit_delta', {
  id: word,
  limitId: word,
  endUser: optional(text),
  used: money,
  held: money,
  returned: money,
  returnedMs: optional(number),
  needed: optional(money),
});

export const limitVersions = new RowType('ledger_limit_version', { accountId: word, version: number });

export const limitMeterRows = new RowType('ledger_limit_meter', {
  id: word,
  limitId: word,
  endUser: optional(text),
});

export const openedLimits = new RowType('ledger_opened_limits', { generationId: word, limits: json });

export const openedRows = new RowType('ledger_opened_row', {
  id: word,
  accountId: word,
  keyId: word,
  nodeId: word,
  workload: text,
  model: text,
  provider: text,
  streaming: boolean,
  hold: money,
  priceListId: number,
  attempts: attemptList,
  createdAtMs: number,
});

export const settledRows = new RowType('ledger_settled_row', {
  id: word,
  accountId: word,
  keyId: word,
  workload: text,
  model: text,
  provider: text,
  status: word,
  streaming: boolean,
  attemptCount: number,
  hold: money,
  priceListId: number,
  inputTokens: optional(number),
  outputTokens: optional(number),
  units: optional(number),
  unit: optional(word),
  tier: optional(text),
  costInput: optional(money),
  costOutput: optional(money),
  costTotal: optional(money),
  latencyMs: number,
  timeToFirstTokenMs: optional(number),
  errorCode: optional(text),
  createdAtMs: number,
  completedAtMs: number,
  entryNumber: optional(bigint),
  balanceAfter: optional(money),
  isEstimated: boolean,
});

/** How each of the opened or settled rows was asked for, in their order. */
export const requestRows = new RowType('ledger_request_row', {
  api: optional(text),
  finishReason: optional(text),
});

export const attemptRows = new RowType('ledger_attempt_row', {
  generationId: word,
  index: number,
  provider: text,
  status: word,
  startedAtMs: number,
  completedAtMs: number,
  upstreamStatus: optional(number),
  errorCode: optional(text),
});

export const writeOffRows = new RowType('ledger_write_off_row', {
  generationId: word,
  accountId: word,
  reason: word,
  amount: optional(money),
  reportedInputTokens: optional(number),
  reportedOutputTokens: optional(number),
});

/** What only some settled rows have: caches, a known cost, a contradictory report. */
export const meteredRows = new RowType('ledger_metered_row', {
  generationId: word,
  cacheReadTokens: optional(number),
  cacheWriteTokens: optional(number),
  cacheWriteLongTokens: optional(number),
  costCacheRead: optional(money),
  costCacheWrite: optional(money),
  costCacheWriteLong: optional(money),
  cacheSaved: optional(money),
  providerCost: optional(money),
  reported: optional(json),
});

export const unchargedRows = new RowType('ledger_uncharged_row', {
  generationId: word,
  index: number,
  accountId: word,
  model: text,
  provider: text,
  endedAtMs: number,
  inputTokens: optional(number),
  cacheReadTokens: optional(number),
  cacheWriteTokens: optional(number),
  cacheWriteLongTokens: optional(number),
  outputTokens: optional(number),
  cost: optional(money),
  priceListId: number,
});

export const attributionRows = new RowType('ledger_attribution_row', {
  generationId: word,
  accountId: word,
  kind: word,
  label: text,
});

export const claimRows = new RowType('ledger_claim_row', {
  keyId: word,
  name: optional(text),
  requestId: word,
});

export const answerRows = new RowType('ledger_answer_row', {
  keyId: word,
  name: text,
  requestId: word,
  answer: optional(text),
  staged: optional(word),
});
