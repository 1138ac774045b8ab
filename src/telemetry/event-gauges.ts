/** What is not told, delivered or paid yet, in the whole deployment. */
import type { SQL } from 'bun';
import type { GatewayMetrics } from './gateway-metrics.ts';

export type EventFigures = Readonly<{
  unpublished: number;
  unpublished_seconds: number;
  deliveries_waiting: number;
  deliveries_retrying: number;
  delay_seconds: number;
  failing_of_operator: number;
  failing_of_accounts: number;
  open_payment_seconds: number;
}>;

/** A scrape must not count millions. */
const maxCounted = 10_000;

export function addEventGauges(metrics: GatewayMetrics, figures: () => EventFigures | null): void {
  const gauge = (name: string, help: string, read: (of: EventFigures) => number) =>
    metrics.gauge(name, help, () => {
      const known = figures();
      return known === null ? null : read(known);
    });
  const byLabel = (read: (of: EventFigures) => [string, number][]) => () => {
    const known = figures();
    return known === null ? [] : read(known);
  };
  gauge('tollgate_unpublished_events', 'Events that were written but not told yet.', (of) => of.unpublished);
  gauge(
    'tollgate_oldest_unpublished_event_age_seconds',
    'Age of the oldest of them; 0 if there is none.',
    (of) => of.unpublished_seconds,
  );
  metrics.gauge(
    'tollgate_webhook_deliveries',
    'Deliveries to webhooks that are not over: not attempted yet, or to be tried again.',
    byLabel((of) => [
      ['waiting', of.deliveries_waiting],
      ['retrying', of.deliveries_retrying],
    ]),
    { label: 'state' },
  );
  gauge(
    'tollgate_webhook_delay_seconds',
    'How long a webhook that answers well has been waiting for its next delivery; 0 if none is.',
    (of) => of.delay_seconds,
  );
  metrics.gauge(
    'tollgate_webhooks_failing',
    'Webhooks whose last delivery failed, and that are not disabled.',
    byLabel((of) => [
      ['operator', of.failing_of_operator],
      ['account', of.failing_of_accounts],
    ]),
    { label: 'owner' },
  );
  gauge(
    'tollgate_oldest_open_payment_age_seconds',
    'Age of the oldest payment that is neither made nor given up, nor on its way; 0 if there is none.',
    (of) => of.open_payment_seconds,
  );
}

/** Each is found by an index on what is not over, so it costs little while all is well. */
export async function readEventFigures(sql: SQL): Promise<EventFigures> {
  const [figures] = await sql<[EventFigures]>`
    select unpublished.count as unpublished,
           coalesce((
             select extract(epoch from now() - created_at)::float8 from events
             where position is null order by written limit 1), 0) as unpublished_seconds,
           deliveries.waiting as deliveries_waiting, deliveries.retrying as deliveries_retrying,
           coalesce((
             select greatest(extract(epoch from now() - min(due_at)), 0)::float8 from webhook_endpoints
             where is_prompt and (failing_since is not null) = false and disabled_at is null and due_at is not null
           ), 0) as delay_seconds,
           failing.of_operator as failing_of_operator, failing.of_accounts as failing_of_accounts,
           coalesce((
             select extract(epoch from now() - min(created_at))::float8 from payment_orders
             where next_look_at is not null and state in ('new', 'open')), 0) as open_payment_seconds
    from (
      select count(*)::int as count
      from (select 1 from events where position is null limit ${maxCounted}::int) as counted
    ) as unpublished, (
      select count(*) filter (where attempts = 0)::int as waiting, count(*) filter (where attempts > 0)::int as retrying
      from (select attempts from webhook_deliveries where state = 'pending' limit ${maxCounted}::int) as counted
    ) as deliveries, (
      select count(*) filter (where account_id is null)::int as of_operator,
             count(*) filter (where account_id is not null)::int as of_accounts
      from (
        select account_id from webhook_endpoints where failing_since is not null and disabled_at is null
        order by account_id nulls first limit ${maxCounted}::int
      ) as counted
    ) as failing`;
  return figures;
}
