/**
 * Anthropic's reports of costs, in cents. The newer one has rows, and says up to when its figures are complete; the older
 * one has buckets, and is asked where the newer one is not available.
 */
import { parseTime } from '../lib/calendar.ts';
import { type Fields, isObject, objectAt } from '../providers/wire.ts';
import { addDays } from '../usage/days.ts';
import { type BillLine, type BillPage, cleanName, cleanText } from './bill.ts';
import type { Report } from './report.ts';
import { amountAt, dayAt, listAt, nextPage, requireDollars, textAt, unreadable } from './report-fields.ts';

const headersFor = (key: string) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' });

export const anthropicAnalytics: Report = {
  source: 'analytics',
  maxDays: 31,
  request: ({ origin, key, from, to, filters }, cursor) => {
    const url = new URL('/v1/organizations/analytics/cost', origin);
    const query = url.searchParams;
    query.set('starting_at', `${from}T00:00:00Z`);
    query.set('ending_at', `${addDays(to, 1)}T00:00:00Z`);
    query.set('time_bucket_width', '1d');
    for (const group of ['model', 'cost_type', 'token_type']) query.append('group_by[]', group);
    // By default the dearest come first, and that order may change between two pages.
    query.set('order_by', 'time');
    query.set('order', 'asc');
    query.set('limit', '1000');
    for (const id of filters.workspaceIds) query.append('workspace_ids[]', id);
    for (const id of filters.apiKeyIds) query.append('api_key_ids[]', id);
    if (cursor !== null) query.set('page', cursor);
    const beta = { 'anthropic-beta': 'analytics-usage-cost-2026-08-24' };
    return { url, headers: { ...headersFor(key), ...beta } };
  },
  readPage: (page) => ({
    days: [],
    lines: listAt(page, 'data').map((row) => ({
      day: dayAt(textAt(row, 'starting_at')),
      line: readRow(row),
    })),
    next: nextPage(page),
    refreshedAt: parseTime(withMilliseconds(textAt(page, 'data_refreshed_at') ?? '')),
    notes: [],
  }),
};

/** Times may have more digits than a Date. */
function withMilliseconds(text: string): string {
  return text.replace(/(\.\d{3})\d+/, '$1');
}

function readRow(row: unknown): BillLine {
  const group = objectAt(row, 'group');
  const cost = objectAt(row, 'cost');
  if (group === null || cost === null) throw unreadable('a row has no cost');
  requireDollars(cost.currency);
  return {
    ...nameOf(group, null),
    amount: amountAt(cost, 'amount', 'cents'),
    listAmount: textAt(cost, 'list_amount') === null ? null : amountAt(cost, 'list_amount', 'cents'),
    quantity: null,
  };
}

export const anthropicCostReport: Report = {
  source: 'cost_report',
  maxDays: 366,
  request: ({ origin, key, from, to, filters }, cursor) => {
    const url = new URL('/v1/organizations/cost_report', origin);
    const query = url.searchParams;
    query.set('starting_at', `${from}T00:00:00Z`);
    query.set('ending_at', `${addDays(to, 1)}T00:00:00Z`);
    query.set('bucket_width', '1d');
    query.append('group_by[]', 'description');
    // It cannot be filtered, only grouped by workspace.
    if (filters.workspaceIds.length > 0) query.append('group_by[]', 'workspace_id');
    query.set('limit', '31');
    if (cursor !== null) query.set('page', cursor);
    return { url, headers: headersFor(key) };
  },
  readPage: (page, { workspaceIds }) => readBuckets(page, workspaceIds),
};

function readBuckets(page: unknown, workspaceIds: readonly string[]): BillPage {
  const buckets = listAt(page, 'data').map((bucket) => ({
    day: dayAt(textAt(bucket, 'starting_at')),
    results: listAt(bucket, 'results').filter((result) => isOf(workspaceIds, result)),
  }));
  return {
    days: buckets.map(({ day }) => day),
    lines: buckets.flatMap(({ day, results }) =>
      results.map((result) => ({ day, line: readResult(result) })),
    ),
    next: nextPage(page),
    refreshedAt: null,
    notes: [],
  };
}

function isOf(workspaceIds: readonly string[], result: unknown): boolean {
  return workspaceIds.length === 0 || workspaceIds.includes(textAt(result, 'workspace_id') ?? '');
}

function readResult(result: unknown): BillLine {
  if (!isObject(result)) throw unreadable('a result is not an object');
  requireDollars(result.currency);
  return {
    ...nameOf(result, textAt(result, 'description')),
    amount: amountAt(result, 'amount', 'cents'),
    listAmount: null,
    quantity: null,
  };
}

/** Web search and code execution are no tokens, even where they name a model. */
function nameOf(fields: Fields, description: string | null): Pick<BillLine, 'name' | 'isModel' | 'meter'> {
  const model = textAt(fields, 'model');
  const costType = textAt(fields, 'cost_type') ?? 'tokens';
  if (model !== null && costType === 'tokens')
    return { name: cleanName(model), isModel: true, meter: cleanText(textAt(fields, 'token_type')) };
  const name = costType === 'tokens' ? (description ?? costType) : costType;
  return { name: cleanName(name), isModel: false, meter: null };
}
