/** Reads the bill of a provider for some days, stores it, and compares it with what was recorded. */
import type { SQL } from 'bun';
import { OperatorError } from '../lib/operator-error.ts';
import type { Catalog, Provider } from '../models/model.ts';
import { readProviderKey, type Secret } from '../models/provider-key.ts';
import { addDays, everyDay } from '../usage/days.ts';
import { type Bill, BillError } from './bill.ts';
import { compareDays, type ProviderNames } from './compare.ts';
import type { ComparedDay } from './compared.ts';
import { fetchBill, type ReportVendor } from './fetch-bill.ts';
import { readMetered } from './metered.ts';
import { finishRun, readBills, startRun, storeBill, storeComparison } from './store.ts';

/** Both days are included. */
export type ReconcileOrder = Readonly<{
  catalog: Catalog;
  provider: Provider;
  from: string;
  to: string;
  /** Who asked for it; null for the gateway itself. */
  requestedBy: string | null;
}>;

export type Reconciled = Readonly<{ bill: Bill; days: readonly ComparedDay[] }>;

/** Throws a BillError when the bill cannot be read; that is recorded too. */
export async function reconcile(
  sql: SQL,
  order: ReconcileOrder,
  readBill: () => Promise<Bill>,
  now: Date,
): Promise<Reconciled> {
  const { provider, from, to } = order;
  const run = await startRun(sql, provider.id, from, to, order.requestedBy);
  try {
    await requireRecords(sql, from);
    const read = await readBill();
    const bill = { ...read, notes: [...namesakeNotes(order), ...read.notes] };
    await storeBill(sql, provider.id, bill);
    const days = await compare(sql, order, now);
    await storeComparison(sql, provider.id, days);
    await finishRun(sql, run, { source: bill.source, daysRead: bill.days.size, notes: bill.notes });
    return { bill, days };
  } catch (error) {
    const message =
      error instanceof OperatorError ? error.message : 'An internal error occurred. The log says more.';
    // Without a database the record of the failure is lost, too; what failed matters more.
    await finishRun(sql, run, { error: message }).catch(() => undefined);
    throw error;
  }
}

/** They may share one bill, or not: only the operator knows. */
function namesakeNotes({ catalog, provider: { id, name } }: ReconcileOrder): string[] {
  return [...catalog.providers.values()]
    .filter((other) => other.name === name && other.id !== id)
    .map(
      (other) =>
        `${other.id} is named ${name} as well, and records have only the name: what it costs is part of the metered cost.`,
    );
}

/** Without the records of a day, its whole bill would look like a difference. */
async function requireRecords(sql: SQL, from: string): Promise<void> {
  const [{ day }] = await sql<
    [{ day: string | null }]
  >`select max(ends_on)::text as day from ledger_archives`;
  if (day !== null && from < day)
    throw new OperatorError(`The records of the days before ${day} were archived. Compare later days only.`);
}

/** The days next to the range are compared too, because a difference may cancel out with theirs. */
async function compare(sql: SQL, { catalog, provider, from, to }: ReconcileOrder, now: Date) {
  const [first, last] = [addDays(from, -1), addDays(to, 1)];
  const bills = await readBills(sql, provider.id, first, last);
  // Customers see the name of a provider, so records carry it instead of the ID.
  const metered = await readMetered(sql, provider.name, first, last);
  const compared = compareDays({
    days: everyDay(first, last),
    bills,
    metered,
    names: namesOf(catalog, provider),
    tolerance: provider.costReport.tolerance,
    now,
  });
  return compared.filter(({ day }) => day >= from && day <= to);
}

export function namesOf({ models }: Pick<Catalog, 'models'>, { id, costReport }: Provider): ProviderNames {
  const upstreams = new Map<string, string>();
  for (const model of models.values()) {
    const route = model.routes.find(({ providerId }) => providerId === id);
    if (route !== undefined) upstreams.set(model.id, route.upstreamModel);
  }
  return {
    upstreamOf: (model) => upstreams.get(model) ?? model,
    upstreamModels: new Set(upstreams.values()),
    givenNames: costReport.models,
  };
}

/** A key that cannot be read counts as set: whoever reads it says what is wrong. */
export function isAdminKeySet({ costReport: { adminKeyEnv } }: Provider, secret: Secret): boolean {
  if (adminKeyEnv === null) return false;
  try {
    return secret(adminKeyEnv) !== null;
  } catch {
    return true;
  }
}

/** The key for the report; null when it is not set. Throws when it cannot be one. */
function adminKeyOf({ name, costReport }: Provider, secret: Secret): string | null {
  if (costReport.adminKeyEnv === null) return null;
  const { key, problem } = readProviderKey(costReport.adminKeyEnv, name, secret);
  if (problem !== null) throw new BillError(`${problem.text} ${problem.remedy}`);
  return key?.trim() || null;
}

/** Throws a BillError, also when the catalogue or the environment lacks what it needs. */
export async function fetchBillOf(
  provider: Provider,
  secret: Secret,
  from: string,
  to: string,
  stop: AbortSignal,
): Promise<Bill> {
  const { costReport, adapter, id } = provider;
  const vendor = vendorOf(adapter);
  const baseUrl = costReport.baseUrl ?? provider.baseUrl;
  if (vendor === null || baseUrl === null || costReport.adminKeyEnv === null)
    throw new BillError(
      `The catalogue names no admin_key_env for ${id}, so its bill can only be read from a file: --file CSV.`,
    );
  const key = adminKeyOf(provider, secret);
  if (key === null) throw new BillError(`${costReport.adminKeyEnv} is not set.`);
  const { projectIds, workspaceIds, apiKeyIds } = costReport;
  const filters = { projectIds, workspaceIds, apiKeyIds };
  return await fetchBill(vendor, { origin: new URL(baseUrl).origin, key, from, to, filters }, stop);
}

function vendorOf(adapter: Provider['adapter']): ReportVendor | null {
  return adapter === 'openai' || adapter === 'anthropic' ? adapter : null;
}
