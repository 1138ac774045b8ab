/** Requests on two gateways, counted: each of them knows what both have done, to the last digit. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { RequestSeries } from '../../src/console/request-contract.ts';
import { type ConsoleFixture, openConsoleFixture, visitor } from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { asHolderOf, openLeavingClient } from '../support/leaving-client.ts';

let fixture: ConsoleFixture;
let second: Gateway;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  second = await startGateway(fixture.environment);
}, 60_000);

afterAll(async () => {
  await second.stop();
  await fixture.close();
});

async function chat(origin: string, model: string, content: string): Promise<void> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  });
  await response.text();
}

async function leave(origin: string): Promise<void> {
  const client = openLeavingClient(origin, '/v1/chat/completions', asHolderOf(fixture.key), {
    model: 'full',
    messages: [{ role: 'user', content: '[[long 100]] [[chunk-delay 20]]' }],
    stream: true,
  });
  await client.requestId();
  await client.leave();
}

type Counted = Readonly<{
  completed: number;
  failed: number;
  cancelled: number;
  refused: number;
  cost: string;
}>;

/** What is stored, and what the ledger says was charged. */
async function stored(): Promise<Counted> {
  const [row] = await fixture.database.sql<[Counted]>`
    select count(*) filter (where status = 'completed')::int as completed,
           count(*) filter (where status = 'failed')::int as failed,
           count(*) filter (where status = 'cancelled')::int as cancelled,
           (select count(*)::int from refusals where account_id = ${fixture.account}) as refused,
           (select -sum(amount) from ledger_entries where account_id = ${fixture.account} and kind in ('charge', 'refund'))
             as cost
    from generations where account_id = ${fixture.account}`;
  return { ...row };
}

test('figures of both are those of the tables and of the ledger', async () => {
  for (const { origin } of [fixture.gateway, second]) {
    await chat(origin, 'full', '[[usage 10 5]] hi');
    await chat(origin, 'fallback', '[[usage 3 4]] hi');
    await chat(origin, 'full', '[[status 503]]');
    await chat(origin, 'nothing of this name', 'hi');
    await leave(origin);
  }
  const expected = await eventually('all of them', async () => {
    const { refused, cancelled, ...rest } = await stored();
    return refused === 2 && cancelled === 2 ? { refused, cancelled, ...rest } : null;
  });
  expect(expected).toMatchObject({ completed: 4, failed: 2 });
  for (const { origin } of [fixture.gateway, second])
    for (const filter of ['', '?api=chat_completions']) {
      const path = `/api/console/accounts/${fixture.account}/requests/series${filter}`;
      const response = await visitor(origin, fixture.people.owner.cookie).send('GET', path);
      const { totals, points } = (await response.json()) as RequestSeries;
      expect(totals).toMatchObject(expected);
      expect(points.reduce((sum, { refused }) => sum + refused, 0)).toBe(2);
    }
}, 60_000);
