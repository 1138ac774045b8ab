/** A database that freezes in the middle of everything: no client waits longer than promised for the end of its response. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  type ChatFixture,
  chatCatalog,
  type ErrorBody,
  eventsOf,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { freezeSessions } from '../support/freeze-sessions.ts';
import { heldModel, startHeldProvider } from '../support/held-provider.ts';

const provider = startHeldProvider();
let fixture: ChatFixture;

beforeAll(async () => {
  fixture = await openChatFixture((url) => chatCatalog(url, heldModel(provider, url)));
}, 60_000);

afterAll(async () => {
  await fixture.close();
  await provider.stop();
});

function ask(key: string, stream: boolean, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({
      model: 'held',
      stream,
      messages: [{ role: 'user', content: '[[usage 10 20]] hello' }],
    }),
  });
}

type Session = Readonly<{ pid: number; isCommitting: boolean }>;

/** Stops the gateway's sessions in the database. Returns what lets them go on, or those that do not commit for the ledger. */
async function freeze(): Promise<(isDue?: (session: Session) => boolean) => void> {
  const { sql } = fixture.database;
  let sessions = await freezeSessions(
    sql,
    () => sql<Session[]>`
      select pid, query like '%ledger_write_batch%' as "isCommitting" from pg_stat_activity
      where datname = current_database() and application_name like 'tollgate%'`,
  );
  expect(new Set(sessions.map(({ isCommitting }) => isCommitting))).toEqual(new Set([true, false]));
  return (isDue = () => true) => {
    const due = sessions.filter(isDue);
    sessions = sessions.filter((session) => !due.includes(session));
    for (const { pid } of due) process.kill(pid, 'SIGCONT');
  };
}

const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';

async function balanceOf(account: string): Promise<string> {
  const [row] = await fixture.database.sql<[{ balance: string }]>`
    select balance::text as balance from accounts where id = ${account}`;
  return row.balance;
}

test('responses end while their settlement is still being tried, and what clients were told is what is charged', async () => {
  const streaming = await fixture.customer('1');
  const waiting = await fixture.customer('1');
  const retrying = await fixture.customer('1');
  const again = () => ask(retrying.key, false, { 'idempotency-key': 'again' });
  const streamed = await ask(streaming.key, true);
  const sent = [ask(waiting.key, false), again()] as const;
  await provider.holds(3);
  const duplicate = again();
  await eventually('it waits for the one before it', async () => {
    const looks = await fixture.database.sql`
      select 1 from pg_stat_activity
      where datname = current_database() and query like '%idempotent_requests as request%' and pid <> pg_backend_pid()`;
    return looks.length > 0;
  });
  const goOn = await freeze();
  try {
    provider.release();
    const [text, whole, withheld] = await Promise.all([streamed.text(), ...sent]);
    expect(fixture.gateway.output()).not.toContain('not settled yet');
    expect(text).toContain('billing_temporarily_unavailable');
    expect(eventsOf(text).at(-1)).toBe('[DONE]');
    for (const response of [whole, withheld]) {
      expect(response.status).toBe(500);
      expect(((await response.json()) as ErrorBody).error.code).toBe('billing_consistency_error');
    }
    expect((await duplicate).status).toBe(503);
    // The retry may run before the settlement that is still being tried.
    goOn(({ isCommitting }) => !isCommitting);
    await eventually('the idempotency key is free', async () => {
      const claims = await fixture.database.sql`select 1 from idempotent_requests`;
      return claims.length === 0;
    });
    goOn();
    const { origin } = fixture.gateway;
    expect(await finishedGeneration(origin, streaming.key, idOf(streamed))).toMatchObject({
      status: 'completed',
      cost: { total: '0.000050000000' },
    });
    for (const [{ key }, response] of [
      [waiting, whole],
      [retrying, withheld],
    ] as const)
      await eventually('a response that was withheld costs nothing', async () => {
        const { status, cost, error } = await finishedGeneration(origin, key, idOf(response));
        return status === 'failed' && cost === null && error?.code === 'billing_consistency_error';
      });
    const retried = again();
    await provider.holds(1);
    provider.release();
    expect((await retried).status).toBe(200);
  } finally {
    goOn();
  }
  expect(await balanceOf(streaming.account)).toBe('0.999950000000');
  expect(await balanceOf(waiting.account)).toBe('1.000000000000');
  expect(await balanceOf(retrying.account)).toBe('0.999950000000');
}, 60_000);
