/**
 * Reconciles by itself, once a day, each provider whose admin key is set. One node does it: whoever claims the provider
 * first. Days that the provider may still correct are read again.
 */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { OperatorError } from '../lib/operator-error.ts';
import type { Catalog, Provider } from '../models/model.ts';
import type { Secret } from '../models/provider-key.ts';
import { addDays, dayOf } from '../usage/days.ts';
import { fetchBillOf, isAdminKeySet, reconcile } from './reconcile.ts';
import { newestBilledDay } from './store.ts';

const everyMs = 10 * 60 * 1000;
/** Longer than reading a bill can take. */
const claimMinutes = 60;
const retryMinutes = 60;
/** By then most of the figures of the day before are there. */
const hourOfDay = 3;

/** Yesterday and the three days before: the last time a day is read, it is older than 72 hours. */
const daysReadAgain = 4;
const firstDays = 7;
const maxDays = 31;

type Services = Readonly<{ sql: SQL; catalog: () => Catalog; secret: Secret; log: Log }>;

/** Runs now, and looks every ten minutes whether it is time again. */
export function keepBillsReconciled(services: Services): () => Promise<void> {
  const { log } = services;
  const stopping = new AbortController();
  let inProgress: Promise<void> | null = null;

  function run(): void {
    inProgress ??= reconcileDue(services, stopping.signal)
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) log.warn('bills not reconciled yet', { error });
      })
      .finally(() => {
        inProgress = null;
      });
  }

  const timer = setInterval(run, everyMs);
  run();
  return async () => {
    clearInterval(timer);
    stopping.abort();
    await inProgress;
  };
}

/** One provider after the other. */
export async function reconcileDue(services: Services, stop: AbortSignal): Promise<void> {
  const { sql, catalog, secret, log } = services;
  for (const provider of catalog().providers.values()) {
    if (stop.aborted) return;
    if (!isAdminKeySet(provider, secret) || !(await claim(sql, provider.id))) continue;
    let isRead = false;
    try {
      await reconcileOne(services, provider, stop);
      isRead = true;
    } catch (error) {
      if (!stop.aborted) log.warn('bill not reconciled', { provider: provider.id, ...describe(error) });
    } finally {
      await release(sql, provider.id, isRead ? 'tomorrow' : stop.aborted ? 'now' : 'in an hour');
    }
  }
}

/** What the operator can fix is a sentence, and needs no trace. */
function describe(error: unknown) {
  return error instanceof OperatorError ? { problems: [error.message] } : { error };
}

async function reconcileOne(
  { sql, catalog, secret, log }: Services,
  provider: Provider,
  stop: AbortSignal,
): Promise<void> {
  const { from, to } = daysToRead(await newestBilledDay(sql, provider.id), new Date());
  const order = { catalog: catalog(), provider, from, to, requestedBy: null };
  const { days } = await reconcile(
    sql,
    order,
    () => fetchBillOf(provider, secret, from, to, stop),
    new Date(),
  );
  const count = days.filter(({ isWithin, isPreliminary }) => isWithin === false && !isPreliminary).length;
  if (count > 0) log.warn('the bill differs from the metered cost', { provider: provider.id, count });
  else log.info('bill reconciled', { provider: provider.id });
}

/** Up to yesterday: the figures of a day that is not over say nothing. */
export function daysToRead(newestBilled: string | null, now: Date): Readonly<{ from: string; to: string }> {
  const to = addDays(dayOf(now), -1);
  const usual = addDays(to, 1 - (newestBilled === null ? firstDays : daysReadAgain));
  const missing = newestBilled === null ? usual : addDays(newestBilled, 1);
  const earliest = addDays(to, 1 - maxDays);
  const from = missing < usual ? missing : usual;
  return { from: from < earliest ? earliest : from, to };
}

async function claim(sql: SQL, provider: string): Promise<boolean> {
  const rows = await sql`
    insert into reconciliation_schedule as schedule (provider, next_at, claimed_until)
    values (${provider}, now(), now() + make_interval(mins => ${claimMinutes}::int))
    on conflict (provider) do update set claimed_until = excluded.claimed_until
    where schedule.next_at <= now() and (schedule.claimed_until is null or schedule.claimed_until < now())
    returning 1`;
  return rows.length > 0;
}

/** A node that stops leaves the rest to another one. */
async function release(sql: SQL, provider: string, next: 'now' | 'in an hour' | 'tomorrow'): Promise<void> {
  await sql`
    update reconciliation_schedule
    set claimed_until = null,
        next_at = case ${next}::text
          when 'tomorrow' then date_trunc('day', now(), 'UTC') + interval '1 day' + make_interval(hours => ${hourOfDay}::int)
          when 'in an hour' then now() + make_interval(mins => ${retryMinutes}::int)
          else now() end
    where provider = ${provider}`;
}
