/**
 * What clients get while the database is away, in two ways that networks have: a proxy that accepts connections and closes
 * them, and one that accepts them and stays silent. Both at once, because they take a while.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { generateKey } from '../../src/keys/key-format.ts';
import { type ChatFixture, chatCatalog, type ErrorBody, openChatFixture } from '../support/chat-fixture.ts';
import { type DatabaseRelay, startDatabaseRelay } from '../support/database-relay.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';

/** Statements whose answer is lost keep upkeep waiting for three seconds, once; the rest is for a busy machine. */
const maxStopMs = 12_000;
/** A client is promised five seconds; the rest is for a busy machine. */
const deadlineMs = 9_000;

const modes = ['close', 'silent'] as const;
type Site = Readonly<{ fixture: ChatFixture; relay: DatabaseRelay }>;
const sites = new Map<string, Site>();

beforeAll(async () => {
  await Promise.all(
    modes.map(async (mode) => {
      const { promise: started, resolve } = Promise.withResolvers<DatabaseRelay>();
      const fixture = await openChatFixture(chatCatalog, async (environment) => {
        const relay = await startDatabaseRelay(environment.DATABASE_URL ?? '');
        resolve(relay);
        // Few enough that the silence catches all of them.
        return await startGateway({ ...environment, DATABASE_URL: relay.url, DATABASE_POOL: '2' });
      });
      sites.set(mode, { fixture, relay: await started });
    }),
  );
}, 60_000);

afterAll(async () => {
  for (const { fixture, relay } of sites.values()) {
    await fixture.close();
    relay.close();
  }
}, 60_000);

async function ask({ fixture }: Site, path: string, key: string, init: RequestInit = {}) {
  const response = await fetch(`${fixture.gateway.origin}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
    signal: AbortSignal.timeout(deadlineMs),
  });
  const { error } = (await response.json()) as Partial<ErrorBody>;
  return { status: response.status, code: error?.code, retryAfter: response.headers.get('retry-after') };
}

function chat(site: Site, key: string, headers: Record<string, string> = {}) {
  return ask(site, '/v1/chat/completions', key, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content: '[[usage 10 20]] hello' }] }),
  });
}

/** The key is looked up again if the announcement that it was made came after it was first used. */
const lookupFailed = expect.stringMatching(/^(balance|api_keys)_lookup_failed$/);

test.concurrent.each(modes)(
  'behind a proxy that accepts (%s), every request is answered in time, and nothing stays held',
  async (mode) => {
    const site = sites.get(mode) as Site;
    const { fixture, relay } = site;
    const { origin } = fixture.gateway;
    const { key, account } = await fixture.customer('1');
    expect((await chat(site, key)).status).toBe(200);

    relay.become(mode);
    const [held, listed, unknown, repeated, ready] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, () => chat(site, key))),
      ask(site, '/v1/generations', key),
      chat(site, generateKey()),
      chat(site, key, { 'idempotency-key': 'again' }),
      fetch(`${origin}/readyz`),
    ]);
    for (const response of held)
      expect(response).toEqual({ status: 500, code: lookupFailed, retryAfter: '1' });
    expect(listed).toEqual({ status: 500, code: 'generation_lookup_failed', retryAfter: '1' });
    expect(unknown).toEqual({ status: 500, code: 'api_keys_lookup_failed', retryAfter: '1' });
    expect(repeated).toEqual({
      status: repeated.code === 'server_overloaded' ? 503 : 500,
      code: expect.stringMatching(/^(server_overloaded|api_keys_lookup_failed)$/),
      retryAfter: '1',
    });
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ status: 'not ready', database: 'away', schema: 'unknown' });

    relay.become('pass');
    await eventually('requests are served again', async () => (await chat(site, key)).status === 200);
    await eventually('it is ready again', async () => (await fetch(`${origin}/readyz`)).status === 200);
    await eventually('nothing is held', async () => {
      const [row] = await fixture.database
        .sql`select held::float8 as held from accounts where id = ${account}`;
      return row.held === 0;
    });
    // Whatever was retried meanwhile is logged once a second, with a count.
    const lines = fixture.gateway.output().split('\n');
    const retries = lines.filter((line) => line.includes('not settled yet')).map((line) => JSON.parse(line));
    const seconds = new Set(retries.map(({ at }) => Math.floor(Date.parse(at) / 1000)));
    expect(retries.length).toBeLessThanOrEqual(seconds.size + 1);
    expect(retries.every(({ count }) => count >= 1)).toBe(true);
  },
  60_000,
);

test.each(modes)('a gateway that has lost connections (%s) stops soon', async (mode) => {
  const { gateway } = (sites.get(mode) as Site).fixture;
  const startedAt = performance.now();
  expect(await gateway.stop()).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(maxStopMs);
});
