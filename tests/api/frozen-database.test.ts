/** A database that stops in the middle of everything, without a word: no client waits longer for its end than is promised. */
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

function ask(key: string, stream: boolean): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'held',
      stream,
      messages: [{ role: 'user', content: '[[usage 10 20]] hello' }],
    }),
  });
}

/** Stops the gateway's sessions in the database. Returns what lets them go on. */
async function freeze(): Promise<() => void> {
  const sessions = await fixture.database.sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and application_name like 'tollgate%'`;
  expect(sessions.length).toBeGreaterThan(0);
  for (const { pid } of sessions) process.kill(pid, 'SIGSTOP');
  return () => {
    for (const { pid } of sessions.splice(0)) process.kill(pid, 'SIGCONT');
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
  const streamed = await ask(streaming.key, true);
  const sent = ask(waiting.key, false);
  await provider.holds(2);
  const goOn = await freeze();
  try {
    provider.release();
    const [text, whole] = await Promise.all([streamed.text(), sent]);
    expect(fixture.gateway.output()).not.toContain('not settled yet');
    expect(text).toContain('billing_temporarily_unavailable');
    expect(eventsOf(text).at(-1)).toBe('[DONE]');
    expect(whole.status).toBe(500);
    expect(((await whole.json()) as ErrorBody).error.code).toBe('billing_consistency_error');
    goOn();
    const { origin } = fixture.gateway;
    expect(await finishedGeneration(origin, streaming.key, idOf(streamed))).toMatchObject({
      status: 'completed',
      cost: { total: '0.000050000000' },
    });
    await eventually('the response that was withheld costs nothing', async () => {
      const { status, cost, error } = await finishedGeneration(origin, waiting.key, idOf(whole));
      return status === 'failed' && cost === null && error?.code === 'billing_consistency_error';
    });
  } finally {
    goOn();
  }
  expect(await balanceOf(streaming.account)).toBe('0.999950000000');
  expect(await balanceOf(waiting.account)).toBe('1.000000000000');
}, 60_000);
