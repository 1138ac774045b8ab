/**
 * The database commits a settlement, is gone before it can say so, and stays away for longer than a client waits. The
 * response is withheld, so its charge must not stand; unless a retry can still get the response.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  type ChatFixture,
  type ErrorBody,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';

let fixture: ChatFixture;
let database: Relay;
let gateway: Gateway;

beforeAll(async () => {
  fixture = await openChatFixture();
  database = await relayTo(new URL(fixture.database.url));
  gateway = await startGateway({
    ...fixture.environment,
    DATABASE_URL: database.url,
    TOLLGATE_DATA: temporaryFolder(),
  });
}, 60_000);

afterAll(async () => {
  await gateway.stop();
  database.close();
  await fixture.close();
});

type Relay = Readonly<{
  url: string;
  /** Loses the next confirmation of a commit, and everything after it until `comeBack`. */
  loseConfirmation: () => Promise<void>;
  comeBack: () => void;
  close: () => void;
}>;

/** Passes on what gateway and database say to each other. */
async function relayTo(target: URL): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isAway = false;
  let onLost: (() => void) | null = null;

  const server: Server = createServer((client) => {
    if (isAway) {
      client.destroy();
      return;
    }
    const upstream = connect(target.searchParams.get('path') ?? '');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes) => upstream.write(bytes));
    upstream.on('data', (bytes) => {
      if (onLost === null || !bytes.includes('COMMIT\0')) {
        client.write(bytes);
        return;
      }
      isAway = true;
      onLost();
      onLost = null;
      for (const socket of sockets) socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return {
    url: `postgres://${target.username}@127.0.0.1:${port}${target.pathname}`,
    loseConfirmation: () =>
      new Promise((resolve) => {
        onLost = resolve;
      }),
    comeBack: () => {
      isAway = false;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function ask(key: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({
      model: 'full',
      messages: [{ role: 'user', content: '[[delay 400]] [[usage 10 20]] hello' }],
    }),
  });
}

const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';

async function entriesOf(account: string) {
  const rows = await fixture.database.sql<{ kind: string; amount: string }[]>`
    select kind, amount from ledger_entries where account_id = ${account} and number > 1 order by number`;
  return rows.map(({ kind, amount }) => [kind, amount]);
}

async function entriesUntil(account: string, count: number) {
  for (;;) {
    const entries = await entriesOf(account);
    if (entries.length >= count) return entries;
    await Bun.sleep(50);
  }
}

/** Waits until the request is with the provider: its hold is committed, and what is committed next is its settlement. */
async function untilHeld(account: string): Promise<void> {
  while (
    (await fixture.database.sql`select 1 from open_generations where account_id = ${account}`).length === 0
  )
    await Bun.sleep(5);
}

test('a charge whose response was withheld is given back', async () => {
  const { account, key } = await fixture.customer('1');
  const sent = ask(key);
  await untilHeld(account);
  await database.loseConfirmation();
  expect(await entriesOf(account)).toEqual([['charge', '-0.000050000000']]);
  const response = await sent;
  expect(response.status).toBe(500);
  expect(((await response.json()) as ErrorBody).error.code).toBe('billing_consistency_error');
  database.comeBack();
  expect(await entriesUntil(account, 2)).toEqual([
    ['charge', '-0.000050000000'],
    ['refund', '0.000050000000'],
  ]);
  expect(await finishedGeneration(fixture.gateway.origin, key, idOf(response))).toMatchObject({
    status: 'failed',
    cost: null,
    error: { code: 'billing_consistency_error' },
  });
}, 60_000);

test('the charge of a request with a name stands, and a retry gets the response', async () => {
  const { account, key } = await fixture.customer('1');
  const named = { 'idempotency-key': 'once' };
  const sent = ask(key, named);
  await untilHeld(account);
  await database.loseConfirmation();
  const response = await sent;
  expect(response.status).toBe(500);
  database.comeBack();
  while ((await fetch(`${gateway.origin}/readyz`)).status !== 200) await Bun.sleep(50);
  const retried = await ask(key, named);
  expect([retried.status, retried.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  expect(await entriesOf(account)).toEqual([['charge', '-0.000050000000']]);
}, 60_000);
