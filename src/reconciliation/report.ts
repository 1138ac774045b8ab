/** A report of costs, as one vendor serves it: how to ask for a page, and how to read one. Pure. */
import type { BillPage, BillSource } from './bill.ts';

/** What belongs to this gateway, where others use the same organisation. Empty means everything. */
export type ReportFilters = Readonly<{
  projectIds: readonly string[];
  workspaceIds: readonly string[];
  apiKeyIds: readonly string[];
}>;

/** Both days are included. */
export type ReportQuery = Readonly<{
  origin: string;
  /** Sent only as a header. */
  key: string;
  from: string;
  to: string;
  filters: ReportFilters;
}>;

export type Report = Readonly<{
  source: BillSource;
  /** How many days one query may span. */
  maxDays: number;
  request: (
    query: ReportQuery,
    cursor: string | null,
  ) => Readonly<{ url: URL; headers: Readonly<Record<string, string>> }>;
  /** Gets parsed JSON in which every number is its text. Throws a BillError. */
  readPage: (page: unknown, filters: ReportFilters) => BillPage;
}>;
