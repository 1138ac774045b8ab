/** The bill of a provider, from the report that its vendor serves. */
import { addDays, everyDay } from '../usage/days.ts';
import { anthropicAnalytics, anthropicCostReport } from './anthropic-costs.ts';
import { type Bill, BillError, type BillPage, linesByDay } from './bill.ts';
import { openaiCosts } from './openai-costs.ts';
import type { Report, ReportQuery } from './report.ts';
import { defaultLimits, type ReportLimits, readPages } from './report-client.ts';

/** Which vendor's reports to ask for. */
export type ReportVendor = 'openai' | 'anthropic';

const maxNotes = 20;

/** Throws a BillError. */
export async function fetchBill(
  vendor: ReportVendor,
  query: ReportQuery,
  stop: AbortSignal,
  limits: ReportLimits = defaultLimits,
): Promise<Bill> {
  if (vendor === 'openai') return await readReport(openaiCosts, query, limits, stop);
  try {
    return await readReport(anthropicAnalytics, query, limits, stop);
  } catch (error) {
    // Not every organisation has the newer report.
    if (!(error instanceof BillError) || (error.status !== 404 && error.status !== 403)) throw error;
    if (query.filters.apiKeyIds.length > 0)
      throw new BillError(
        `${error.message} The older report, which could take its place, cannot be filtered by api_key_ids: use workspace_ids.`,
        error.status,
      );
    return await readReport(anthropicCostReport, query, limits, stop);
  }
}

async function readReport(
  report: Report,
  query: ReportQuery,
  limits: ReportLimits,
  stop: AbortSignal,
): Promise<Bill> {
  const pages: BillPage[] = [];
  for (let from = query.from; from <= query.to; from = addDays(from, report.maxDays)) {
    const last = addDays(from, report.maxDays - 1);
    const to = last < query.to ? last : query.to;
    pages.push(...(await readPages(report, { ...query, from, to }, limits, stop)));
  }
  return billOf(report, query, pages);
}

/** Days outside the query are dropped: only a part of them may have been read. */
export function billOf(
  { source }: Pick<Report, 'source'>,
  { from, to }: Pick<ReportQuery, 'from' | 'to'>,
  pages: readonly BillPage[],
): Bill {
  const refreshedAt = earliest(pages.map((page) => page.refreshedAt));
  const covered = new Set(pages.flatMap(({ days }) => days));
  const lines = linesByDay(pages.flatMap((page) => page.lines));
  // Rows say nothing about days without cost. Those are known only from how fresh the figures are.
  const isRead = (day: string) =>
    covered.has(day) || lines.has(day) || (source === 'analytics' && isComplete(day, refreshedAt));
  const days = everyDay(from, to).filter(isRead);
  return {
    source,
    days: new Map(days.map((day) => [day, lines.get(day) ?? []])),
    refreshedAt,
    notes: pages.flatMap((page) => page.notes).slice(0, maxNotes),
  };
}

function isComplete(day: string, refreshedAt: Date | null): boolean {
  return refreshedAt !== null && refreshedAt.toISOString() >= `${addDays(day, 1)}T00:00:00.000Z`;
}

function earliest(times: readonly (Date | null)[]): Date | null {
  const knownMs = times.filter((time) => time !== null).map((time) => time.getTime());
  return knownMs.length === 0 ? null : new Date(Math.min(...knownMs));
}
