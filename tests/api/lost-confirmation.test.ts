/**
 * The database commits a settlement, goes away before it can confirm it, and stays away for longer than a client waits. The
 * response is withheld, so its charge must not stand, unless a retry can still get the response.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  type ChatFixture,
  type ErrorBody,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';
import { type HeldProvider, startHeldProvider } from '../support/held-provider.ts';

/** A gateway that reaches the database through a relay, and a model whose provider answers when allowed to. */
type Site = Readonly<{ model: string; provider: HeldProvider; database: Relay; gateway: Gateway }>;

const models = ['first', 'second'] as const;
const providers = models.map(() => startHeldProvider());
let fixture: ChatFixture;
/** One for each test, so that both can wait at once. */
let sites: readonly Site[];

const catalog = (url: string) => `
price_version: "2026-11"
providers:
${models.map((model, index) => `  ${model}: { adapter: openai, base_url: "${providers[index]?.behind(url)}/v1", api_key_env: MAIN_KEY }`).join('\n')}
models:
${models.map((model) => `  ${model}: { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [{ provider: ${model}, cost: { billing_type: token, input: "0.5", output: "1" } }] }`).join('\n')}
`;

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
  sites = await Promise.all(providers.map((provider, index) => openSite(models[index] ?? '', provider)));
}, 60_000);

async function openSite(model: string, provider: HeldProvider): Promise<Site> {
  const database = await relayTo(new URL(fixture.database.url));
  const gateway = await startGateway({
    ...fixture.environment,
    DATABASE_URL: database.url,
    TOLLGATE_DATA: temporaryFolder(),
  });
  return { model, provider, database, gateway };
}

afterAll(async () => {
  await Promise.all(sites.map(({ gateway }) => gateway.stop()));
  for (const { database } of sites) database.close();
  await fixture.close();
  await Promise.all(providers.map((provider) => provider.stop()));
});

type Relay = Readonly<{
  url: string;
  /** Loses the next confirmation of a commit, and everything after it until `comeBack`. */
  loseConfirmation: () => Promise<void>;
  comeBack: () => void;
  close: () => void;
}>;

/** Relays the traffic between gateway and database. */
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
    let isSettling = false;
    client.on('data', (bytes) => {
      // The statement that commits a settlement contains the final status of the Generation.
      isSettling ||= onLost !== null && bytes.includes(',completed,');
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (onLost === null || !isSettling) {
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

function ask({ gateway, model }: Site, key: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: '[[usage 10 20]] hello' }] }),
  });
}

/**
 * Loses the confirmation of the settlement. While the request is with the provider, its hold is committed and confirmed,
 * so the next commit is the settlement.
 */
async function loseSettlement({ provider, database }: Site): Promise<void> {
  await provider.holds(1);
  const lost = database.loseConfirmation();
  provider.release();
  await lost;
}

function siteOf(name: string): Site {
  const site = sites.find(({ model }) => model === name);
  if (site === undefined) throw new Error(`There is no site ${name}.`);
  return site;
}

const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';

async function entriesOf(account: string) {
  const rows = await fixture.database.sql<{ kind: string; amount: string }[]>`
    select kind, amount from ledger_entries where account_id = ${account} and number > 1 order by number`;
  return rows.map(({ kind, amount }) => [kind, amount]);
}

async function unchargedOf(account: string) {
  const rows = await fixture.database.sql<{ tokens: string; cost: string }[]>`
    select input_tokens || '/' || output_tokens as tokens, cost::text from uncharged_attempts
    where account_id = ${account}`;
  return [...rows].map((row) => ({ ...row }));
}

async function entriesUntil(account: string, count: number) {
  return await eventually(`${count} entries`, async () => {
    const entries = await entriesOf(account);
    return entries.length >= count ? entries : null;
  });
}

test.concurrent('a charge whose response was withheld is refunded', async () => {
  const site = siteOf('first');
  const { account, key } = await fixture.customer('1');
  const sent = ask(site, key);
  await loseSettlement(site);
  expect(await entriesOf(account)).toEqual([['charge', '-0.000050000000']]);
  const response = await sent;
  expect(response.status).toBe(500);
  expect(((await response.json()) as ErrorBody).error.code).toBe('billing_consistency_error');
  site.database.comeBack();
  expect(await entriesUntil(account, 2)).toEqual([
    ['charge', '-0.000050000000'],
    ['refund', '0.000050000000'],
  ]);
  expect(await finishedGeneration(fixture.gateway.origin, key, idOf(response))).toMatchObject({
    status: 'failed',
    cost: null,
    error: { code: 'billing_consistency_error' },
  });
  // The provider bills it all the same.
  expect(await unchargedOf(account)).toEqual([{ tokens: '10/20', cost: '0.000025000000' }]);
}, 60_000);

test.concurrent('the charge of an idempotent request stands, and a retry gets the response', async () => {
  const site = siteOf('second');
  const { account, key } = await fixture.customer('1');
  const named = { 'idempotency-key': 'once' };
  const sent = ask(site, key, named);
  await loseSettlement(site);
  const response = await sent;
  expect(response.status).toBe(500);
  site.database.comeBack();
  await eventually('the database', async () => (await fetch(`${site.gateway.origin}/readyz`)).status === 200);
  const retried = await ask(site, key, named);
  expect([retried.status, retried.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  expect(await entriesOf(account)).toEqual([['charge', '-0.000050000000']]);
  expect(await unchargedOf(account)).toEqual([]);
}, 60_000);
