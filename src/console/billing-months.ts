/** The statement of each month: from the balance at its beginning to that at its end. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { csvType, sendDownload } from '../http/download.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { entryKinds } from '../ledger/entries.ts';
import { parseTime } from '../lib/calendar.ts';
import type { Log } from '../lib/log.ts';
import { formatMoney, type Money } from '../lib/money.ts';
import { addDays, dayOf } from '../usage/days.ts';
import type { PathParameters } from './access.ts';
import type {
  BillingMonth,
  BillingMonths,
  Charged,
  MonthDetail,
  MonthStatement,
  StatementLine,
} from './billing-contract.ts';
import { balanceLine, csvHeader, sumLine } from './billing-csv.ts';
import {
  type FoundStatement,
  findMonths,
  findStatement,
  findStatementDays,
  type MonthBalance,
  type MonthDays,
  type StatementSum,
} from './billing-queries.ts';
import { boundedRead } from './bounded-read.ts';
import type { AccountContext, AccountHandler, Routes } from './guard.ts';

const failure = 'balance_lookup_failed';

type MonthServices = Readonly<{ reads: () => SQL; log: Log }>;

export function billingMonthsPage({ reads }: MonthServices): Routes<AccountHandler> {
  return {
    '/billing/months': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        const months = await lookUp(failure, () => boundedRead(reads(), (read) => findMonths(read, caller)));
        return Response.json({
          data: (months ?? []).map(presentMonth),
          is_being_added_up: months === null,
        } satisfies BillingMonths);
      },
    },
  };
}

/** One route for both forms of a statement, because a path parameter is a whole segment. */
export function monthStatements(services: MonthServices): Routes<AccountHandler> {
  return {
    '/billing/months/:month': {
      GET: async (request, context) => {
        readQuery(request.url, []);
        const { month, isFile } = monthIn(context.params);
        return isFile
          ? await sendStatement(services, request, context, month)
          : await context.inSlot(async () => Response.json(await showStatement(services, context, month)));
      },
    },
  };
}

/** A month of this century or the next. Whatever else is there has no statement. */
function monthIn(params: PathParameters): Readonly<{ month: string; isFile: boolean }> {
  const [, month = '', suffix] = /^(2[01]\d{2}-\d{2})(\.csv)?$/.exec(params.month ?? '') ?? [];
  if (parseTime(`${month}-01`) === null) throw new ApiError('month_not_found');
  return { month, isFile: suffix !== undefined };
}

export function daysOf(month: string): MonthDays {
  const from = `${month}-01`;
  return { from, end: `${addDays(from, 31).slice(0, 7)}-01` };
}

async function showStatement(
  { reads }: MonthServices,
  { caller }: AccountContext,
  month: string,
): Promise<MonthStatement> {
  return await lookUp(failure, async () => {
    const balance = await boundedRead(reads(), (read) => findMonth(read, caller, month));
    if (balance.isArchived) return { ...presentMonth(balance), detail: null };
    const found = await boundedRead(reads(), (read) => findStatement(read, caller, daysOf(month)));
    const detail = presentDetail(found);
    // The second query may have seen more of a month that is not over.
    return { ...presentMonth({ ...balance, closing: found.closing }), detail };
  });
}

async function findMonth(sql: SQL, caller: AccountContext['caller'], wanted: string): Promise<MonthBalance> {
  const months = await findMonths(sql, caller);
  if (months === null) throw new ApiError('statements_not_ready');
  const found = months.find(({ month }) => month === wanted);
  if (found === undefined) throw new ApiError('month_not_found');
  return found;
}

function presentMonth({ month, closing, isOpen, isArchived }: MonthBalance): BillingMonth {
  return { month, closing: formatMoney(closing), is_open: isOpen, is_archived: isArchived };
}

/** More keys or models than these are summed up in one row. */
export const maxRows = 200;

export function presentDetail({ opening, closing, sums }: FoundStatement): MonthDetail {
  const lines = sums.filter(({ category }) => category !== null);
  requireSum(
    opening,
    lines.map(({ amount }) => amount),
    closing,
  );
  const charges = sums.filter(({ kind }) => kind === 'charge' || kind === 'refund');
  const byModel = groupsBy(charges, ({ model }) => model);
  const byKey = groupsBy(charges, ({ keyId }) => keyId);
  const names = new Map(charges.map(({ keyId, keyName }) => [keyId, keyName]));
  return {
    opening: formatMoney(opening),
    lines: lines.toSorted(byPlace).map(presentLine),
    by_model: presentTop(byModel).map(([model, charged]) => ({ model, ...charged })),
    by_key: presentTop(byKey).map(([keyId, charged]) => ({
      key_id: keyId,
      key_name: names.get(keyId) ?? null,
      ...charged,
    })),
    by_day: [...groupsBy(charges, ({ day }) => day)]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([day, group]) => ({ day, ...presentCharged(group) })),
  };
}

/** Rather no statement than one that does not add up. */
function requireSum(opening: Money, amounts: readonly Money[], closing: Money): void {
  const reached = amounts.reduce((sum, amount) => sum + amount, opening);
  if (reached !== closing)
    throw new Error(`A statement comes to ${formatMoney(reached)} instead of ${formatMoney(closing)}.`);
}

const categories = ['paid', 'promotional', 'allowance', ''];

function byPlace(a: StatementSum, b: StatementSum): number {
  const place = ({ kind, category }: StatementSum) =>
    entryKinds.indexOf(kind) * categories.length + categories.indexOf(category ?? '');
  return place(a) - place(b);
}

function presentLine({ kind, category, entries, amount }: StatementSum): StatementLine {
  return { kind, category: category || null, entries, amount: formatMoney(amount) };
}

type Group = Readonly<{ requests: number; charged: Money; refunded: Money }>;
const nothing: Group = { requests: 0, charged: 0n, refunded: 0n };

/** The sums that are grouped by what `nameOf` returns: of others, it is null. */
function groupsBy(
  sums: readonly StatementSum[],
  nameOf: (sum: StatementSum) => string | null,
): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const sum of sums) {
    const name = nameOf(sum);
    if (name !== null) groups.set(name, add(groups.get(name) ?? nothing, groupOf(sum)));
  }
  return groups;
}

function groupOf({ kind, entries, amount }: StatementSum): Group {
  return kind === 'charge'
    ? { requests: entries, charged: -amount, refunded: 0n }
    : { requests: 0, charged: 0n, refunded: amount };
}

function add(a: Group, b: Group): Group {
  return {
    requests: a.requests + b.requests,
    charged: a.charged + b.charged,
    refunded: a.refunded + b.refunded,
  };
}

/** The most expensive, then the rest under the name null. */
function presentTop(groups: ReadonlyMap<string, Group>): [string | null, Charged][] {
  const sorted = [...groups].toSorted(
    ([nameA, a], [nameB, b]) => Number(b.charged - a.charged) || (nameA < nameB ? -1 : 1),
  );
  const rest = sorted.slice(maxRows).map(([, group]) => group);
  const shown: [string | null, Group][] = sorted.slice(0, maxRows);
  if (rest.length > 0) shown.push([null, rest.reduce(add)]);
  return shown.map(([name, group]) => [name, presentCharged(group)]);
}

function presentCharged({ requests, charged, refunded }: Group): Charged {
  return { requests, charged: formatMoney(charged), refunded: formatMoney(refunded) };
}

async function sendStatement(
  { reads, log }: MonthServices,
  request: Request,
  context: AccountContext,
  month: string,
): Promise<Response> {
  const pieces = csvPieces(reads, context, month);
  const download = { fileName: `statement-${month}.csv`, contentType: csvType, pieces, failure } as const;
  return await sendDownload(download, request, context.base, log);
}

/**
 * One day at a time, each in its own slot, so that a slow download occupies none while it waits. The days that may still get
 * entries are read last and at once, with the balance that they lead to.
 */
async function* csvPieces(
  reads: () => SQL,
  { caller, inSlot }: AccountContext,
  month: string,
): AsyncGenerator<string, undefined> {
  const days = daysOf(month);
  const today = dayOf(new Date());
  const lastDay = earlier(addDays(days.end, -1), today);
  const readLast = earlier(lastDay, addDays(today, -1));
  const balance = await inSlot(() => boundedRead(reads(), (read) => findMonth(read, caller, month)));
  if (balance.isArchived) {
    yield csvHeader + balanceLine('closing', lastDay, balance.closing);
    return;
  }
  const amounts: Money[] = [];
  let from = days.from;
  let text = csvHeader;
  while (from < days.end) {
    const isLast = from >= readLast;
    const part = { from, end: isLast ? days.end : addDays(from, 1) };
    const found = await inSlot(() =>
      boundedRead(reads(), (read) => findStatementDays(read, caller, days, part)),
    );
    if (from === days.from) text += balanceLine('opening', days.from, found.opening);
    amounts.push(...found.sums.map(({ amount }) => amount));
    text += found.sums.map(sumLine).join('');
    if (isLast) {
      requireSum(found.opening, amounts, found.closing);
      text += balanceLine('closing', lastDay, found.closing);
    }
    yield text;
    text = '';
    from = part.end;
  }
}

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}
