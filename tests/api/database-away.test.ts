/**
 * What clients get while the database is away, in the ways in which a network makes it so: a proxy that accepts
 * connections and closes them, and one that accepts them and says nothing.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { generateKey } from '../../src/keys/key-format.ts';
import { type ChatFixture, chatCatalog, type ErrorBody, openChatFixture } from '../support/chat-fixture.ts';
import { type DatabaseRelay, startDatabaseRelay } from '../support/database-relay.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';

/** What a client is promised is five seconds; the rest is for a machine that is busy with everything else. */
const deadlineMs = 9_000;

describe.each(['close', 'silent'] as const)('behind a proxy that accepts: %s', (mode) => {
  let fixture: ChatFixture;
  let relay: DatabaseRelay;

  beforeAll(async () => {
    fixture = await openChatFixture(chatCatalog, async (environment) => {
      relay = await startDatabaseRelay(environment.DATABASE_URL ?? '');
      return await startGateway({ ...environment, DATABASE_URL: relay.url });
    });
  }, 60_000);

  afterAll(async () => {
    await fixture.close();
    relay.close();
  });

  const ask = async (path: string, key: string, init: RequestInit = {}) => {
    const response = await fetch(`${fixture.gateway.origin}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
      signal: AbortSignal.timeout(deadlineMs),
    });
    const { error } = (await response.json()) as Partial<ErrorBody>;
    return { status: response.status, code: error?.code, retryAfter: response.headers.get('retry-after') };
  };
  const chat = (key: string, headers: Record<string, string> = {}) =>
    ask('/v1/chat/completions', key, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content: '[[usage 10 20]] hello' }] }),
    });

  test('every request is answered in time, and nothing stays held', async () => {
    const { key, account } = await fixture.customer('1');
    expect((await chat(key)).status).toBe(200);

    relay.become(mode);
    // Announcements are lost now, so the key that is in use counts as fresh for a while.
    const [held, listed, unknown, repeated, ready] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, () => chat(key))),
      ask('/v1/generations', key),
      chat(generateKey()),
      chat(key, { 'idempotency-key': 'again' }),
      fetch(`${fixture.gateway.origin}/readyz`),
    ]);
    for (const response of held)
      expect(response).toEqual({ status: 500, code: 'balance_lookup_failed', retryAfter: '1' });
    expect(listed).toEqual({ status: 500, code: 'generation_lookup_failed', retryAfter: '1' });
    expect(unknown).toEqual({ status: 500, code: 'api_keys_lookup_failed', retryAfter: '1' });
    expect(repeated).toEqual({ status: 503, code: 'server_overloaded', retryAfter: '1' });
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ status: 'not ready', database: 'away', schema: 'unknown' });

    relay.become('pass');
    await eventually('requests are served again', async () => (await chat(key)).status === 200);
    await eventually('it is ready again', async () => {
      const response = await fetch(`${fixture.gateway.origin}/readyz`);
      return response.status === 200;
    });
    await eventually('nothing is held', async () => {
      const [row] = await fixture.database
        .sql`select held::float8 as held from accounts where id = ${account}`;
      return row.held === 0;
    });
    // Twenty releases were retried for seconds, and each kind of line is there once a second.
    const lines = fixture.gateway.output().split('\n');
    const retries = lines.filter((line) => line.includes('not settled yet')).map((line) => JSON.parse(line));
    const seconds = new Set(retries.map(({ at }) => Math.floor(Date.parse(at) / 1000)));
    expect(retries.length).toBeLessThanOrEqual(seconds.size + 1);
    expect(retries.every(({ count }) => count >= 1)).toBe(true);
  }, 60_000);
});
