/** GET /v1/key */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type ChatFixture,
  chatCatalog,
  type ErrorBody,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { heldModel, startHeldProvider } from '../support/held-provider.ts';

const held = startHeldProvider();
let fixture: ChatFixture;

beforeAll(async () => {
  fixture = await openChatFixture((url) => chatCatalog(url, heldModel(held, url)));
});

afterAll(async () => {
  await fixture.close();
  await held.stop();
});

const ask = (key: string, query = '') =>
  fetch(`${fixture.gateway.origin}/v1/key${query}`, { headers: { authorization: `Bearer ${key}` } });

const chat = (key: string, model: string, more: object = {}) =>
  fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }], ...more }),
  });

async function errorOf(response: Response) {
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code];
}

type KeyBody = {
  id: string;
  rate: { requests_per_minute: number; remaining: number; reset_seconds: number };
  concurrency: { limit: number; in_progress: number };
  month: { spent: string; held: string; remaining: string | null };
  balance: {
    available: string;
    by_category: Record<string, string>;
    expiring: { amount: string; at: string } | null;
  };
  limits: {
    scope: string;
    kind: string;
    amount: string;
    increase: { amount: string; until: string } | null;
    used: string | null;
    held: string | null;
    remaining: string | null;
    resets_at: string | null;
  }[];
};

const units = (amount: string) => BigInt(amount.replace('.', ''));

describe('200', () => {
  test('a key without its own limits', async () => {
    const { key, keyId } = await fixture.customer('5');
    const response = await ask(key);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      object: 'api_key',
      id: keyId,
      name: expect.any(String),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      expires_at: null,
      allowed_models: null,
      rate: { requests_per_minute: 600, remaining: 600, reset_seconds: 0 },
      concurrency: { limit: 200, in_progress: 0 },
      month: {
        start: expect.stringMatching(/^\d{4}-\d\d-01$/),
        limit: null,
        spent: '0.000000000000',
        held: '0.000000000000',
        remaining: null,
      },
      balance: {
        available: '5.000000000000',
        currency: 'USD',
        by_category: {
          paid: '5.000000000000',
          promotional: '0.000000000000',
          allowance: '0.000000000000',
        },
        expiring: null,
      },
      limits: [],
    });
  });

  test('the balance by category, and what expires next', async () => {
    const { key, account } = await fixture.customer('5');
    const credit = (amount: string, ...words: string[]) =>
      runCommand(['account', 'credit', account, amount, ...words], fixture.environment);
    await credit('2', '--category', 'promotional');
    const body = async () => ((await (await ask(key)).json()) as KeyBody).balance;
    expect((await body()).expiring).toBeNull();
    await credit('3', '--category', 'promotional', '--expires', '2099-01-31');
    await credit('1', '--expires', '2099-01-31');
    await credit('9', '--category', 'allowance', '--expires', '2099-02-01');
    expect(await body()).toMatchObject({
      available: '20.000000000000',
      by_category: {
        paid: '6.000000000000',
        promotional: '5.000000000000',
        allowance: '9.000000000000',
      },
      expiring: { amount: '4.000000000000', at: '2099-01-31T00:00:00.000Z' },
    });
    const running = chat(key, 'held');
    await held.holds(1);
    const during = await body();
    expect(Object.values(during.by_category).reduce((sum, each) => sum + units(each), 0n)).toBe(
      units('20.000000000000'),
    );
    expect(units(during.available)).toBeLessThan(units('20.000000000000'));
    held.release();
    await (await running).text();

    // What is due is settled before it is answered, whether or not anybody else has done so.
    await fixture.database.sql`
      update grants set expires_at = now() - interval '1 second' where account_id = ${account} and expires_at is not null`;
    await fixture.database.sql`update accounts set grants_due_at = now() where id = ${account}`;
    const after = await body();
    expect(after).toMatchObject({ expiring: null, by_category: { allowance: '0.000000000000' } });
    expect(units(after.available)).toBe(
      units(after.by_category.paid ?? '') + units(after.by_category.promotional ?? ''),
    );
  });

  test('the limits of its account, its own, and those of each end user', async () => {
    const { key, keyId, account } = await fixture.customer('5');
    const set = (...words: string[]) =>
      runCommand(['limit', 'set', ...words, '--account', account], fixture.environment);
    await set('spend-per-day', '2', '--increase', '1.5', '--until', '2099-01-31');
    await set('tokens-per-minute', '5000', '--key', keyId);
    await set('concurrent-requests', '3', '--each-end-user');
    await set('spend-per-day', '1', '--end-user', 'ann');
    const other = await runCommand<{ id: string }>(
      ['key', 'create', '--account', account],
      fixture.environment,
    );
    await set('spend-per-day', '1', '--key', other.id);
    const running = chat(key, 'held');
    await held.holds(1);
    const during = (await (await ask(key)).json()) as KeyBody;
    held.release();
    await (await running).text();
    const [ofAccount, ofKey, ofEach, ...more] = during.limits;
    expect(more).toEqual([]);
    expect(ofAccount).toMatchObject({
      scope: 'account',
      kind: 'spend_per_day',
      amount: '2',
      increase: { amount: '1.5', until: '2099-01-31T00:00:00.000Z' },
      used: '0',
      resets_at: expect.stringMatching(/T00:00:00.000Z$/),
    });
    const exact = (text: string | null | undefined) => {
      const [whole, fraction = ''] = (text ?? '').split('.');
      return BigInt(`${whole}${fraction.padEnd(12, '0')}`);
    };
    expect(exact(ofAccount?.held)).toBe(units(during.month.held));
    expect(exact(ofAccount?.remaining)).toBe(units('3.500000000000') - units(during.month.held));
    expect(ofKey).toMatchObject({ scope: 'key', kind: 'tokens_per_minute', amount: '5000', increase: null });
    expect(ofEach).toEqual({
      scope: 'each_end_user',
      kind: 'concurrent_requests',
      amount: '3',
      increase: null,
      used: null,
      held: null,
      remaining: null,
      resets_at: null,
    });
  });

  test('every limit, and what is left of it while a request runs and after it', async () => {
    const { key } = await fixture.customer(
      '5',
      ...['--rpm', '60', '--monthly-limit', '2', '--allow', 'full,held', '--expires', '2099-01-31'],
      ...['--name', 'Agent'],
    );
    const running = chat(key, 'held');
    await held.holds(1);
    const during = (await (await ask(key)).json()) as KeyBody;
    expect(during).toMatchObject({
      name: 'Agent',
      expires_at: '2099-01-31T00:00:00.000Z',
      allowed_models: ['full', 'held'],
      concurrency: { in_progress: 1 },
      month: { limit: '2.000000000000', spent: '0.000000000000' },
    });
    expect(during.rate.remaining).toBeLessThan(60);
    expect(during.rate.reset_seconds).toBeGreaterThan(0);
    expect(units(during.month.held)).toBeGreaterThan(0n);
    expect(units(during.month.remaining ?? '')).toBe(units('2.000000000000') - units(during.month.held));
    expect(units(during.balance.available)).toBe(units('5.000000000000') - units(during.month.held));
    held.release();
    const id = (await running).headers.get('x-service-request-id') ?? '';
    const { cost } = await finishedGeneration(fixture.gateway.origin, key, id);
    const after = (await (await ask(key)).json()) as KeyBody;
    const spent = cost?.total ?? '';
    expect(after).toMatchObject({
      concurrency: { in_progress: 0 },
      month: { spent, held: '0.000000000000' },
    });
    expect(units(after.month.remaining ?? '')).toBe(units('2.000000000000') - units(spent));
    expect(units(after.balance.available)).toBe(units('5.000000000000') - units(spent));
  });

  test('what was spent in another month does not count, and a lower limit leaves nothing', async () => {
    const { key, keyId } = await fixture.customer('5', '--monthly-limit', '1');
    await fixture.database
      .sql`update api_key_meters set month = '2020-01-01', month_spent = 3 where key_id = ${keyId}`;
    expect(await (await ask(key)).json()).toMatchObject({ month: { spent: '0.000000000000' } });
    await fixture.database.sql`update api_key_meters
      set month = date_trunc('month', now() at time zone 'UTC'), month_spent = 3 where key_id = ${keyId}`;
    expect(await (await ask(key)).json()).toMatchObject({
      month: { spent: '3.000000000000', remaining: '0.000000000000' },
    });
    await fixture.database.sql`update api_key_meters set month_spent = 0 where key_id = ${keyId}`;
  });

  test('asking is free: it counts towards no limit, and reveals no secret', async () => {
    const { key, keyId } = await fixture.customer('5', '--rpm', '1');
    for (let count = 0; count < 5; count++) expect((await ask(key)).status).toBe(200);
    const response = await ask(key);
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    const text = await response.text();
    expect(text).toContain(keyId);
    expect(text).not.toContain(key.slice(-6));
    expect(text).not.toContain('svc_sk_');
  });

  test('one key learns nothing about another except the balance that they share', async () => {
    const { key, account } = await fixture.customer('5');
    const other = await runCommand<{ id: string; key: string }>(
      ['key', 'create', '--account', account, '--name', 'Other', '--rpm', '7'],
      fixture.environment,
    );
    expect((await chat(key, 'full')).status).toBe(200);
    const body = (await (await ask(other.key)).json()) as KeyBody;
    expect(body).toMatchObject({
      id: other.id,
      rate: { requests_per_minute: 7 },
      month: { spent: '0.000000000000' },
    });
    expect(units(body.balance.available)).toBeLessThan(units('5.000000000000'));
  });
});

describe('errors', () => {
  test('no key, a revoked one, an unknown query', async () => {
    const { key, keyId } = await fixture.customer('5');
    expect(await errorOf(await ask('wrong'))).toEqual([401, 'invalid_api_key']);
    expect(await errorOf(await ask(key, '?verbose=1'))).toEqual([400, 'unsupported_parameter']);
    await runCommand(['key', 'revoke', keyId], fixture.environment);
    await eventually('the end of the key', async () => (await ask(key)).status === 401);
  });

  test('500 api_keys_lookup_failed when the database fails', async () => {
    const { key } = await fixture.customer('5');
    expect((await ask(key)).status).toBe(200);
    await fixture.database.sql`alter table api_key_meters rename to meters_away`;
    const failed = await errorOf(await ask(key));
    await fixture.database.sql`alter table meters_away rename to api_key_meters`;
    expect(failed).toEqual([500, 'api_keys_lookup_failed']);
  });
});
