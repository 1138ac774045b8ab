/** Publishes events soon after they were committed, and forgets them after thirty days. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { repeatedly } from '../lib/repeatedly.ts';

const everyMs = 1_000;
const forgetEveryMs = 10 * 60 * 1000;
const maxAtOnce = 500;
const maxForgottenAtOnce = 5_000;
const eventDays = 30;

/** On every node. Whichever comes first publishes. */
export function keepEventsPublished(sql: SQL, log: Log): () => Promise<void> {
  const stopPublishing = repeatedly(
    everyMs,
    () => publishEvents(sql),
    (fields) => log.warn('events not published yet', fields),
  );
  const stopForgetting = repeatedly(
    forgetEveryMs,
    () => forgetOldEvents(sql),
    (fields) => log.warn('old events not removed yet', fields),
  );
  return async () => {
    await Promise.all([stopPublishing(), stopForgetting()]);
  };
}

export async function publishEvents(sql: SQL): Promise<void> {
  let count = maxAtOnce;
  while (count === maxAtOnce) {
    const [row] = await sql<[{ count: number }]>`select publish_events(${maxAtOnce}::int) as count`;
    count = row.count;
  }
}

/** IDs are times. Their deliveries leave with them. */
export async function forgetOldEvents(sql: SQL): Promise<void> {
  let count = maxForgottenAtOnce;
  while (count === maxForgottenAtOnce) {
    const removed = await sql`
      delete from events where id in (
        select id from events where id < first_id_at(now() - make_interval(days => ${eventDays}::int)) and position is not null
        order by id limit ${maxForgottenAtOnce}::int for update skip locked)`;
    count = removed.count;
  }
}
