/** The console's keys: who may see and change them, and what becomes of requests that use them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Key, Keys, NewKey, Overview } from '../../src/console/contract.ts';
import type { KeyDetail } from '../../src/console/key-contract.ts';
import { newId } from '../../src/lib/ids.ts';
import { formatMoney, moneyFromDatabase } from '../../src/lib/money.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import {
  type ConsoleFixture,
  openConsoleFixture,
  outcomeFor,
  type Visitor,
} from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';

let fixture: ConsoleFixture;
let owner: Visitor;
let keysPath: string;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  owner = fixture.people.owner;
  keysPath = `/api/console/accounts/${fixture.account}/keys`;
}, 60_000);

afterAll(() => fixture.close());

async function answerOf<Answer>(response: Response): Promise<Answer> {
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

/** Creates a key as its owner would. Its secret must never appear anywhere again. */
async function makeKey(draft: Record<string, unknown> = {}): Promise<NewKey> {
  const made = await answerOf<NewKey>(await owner.send('POST', keysPath, { name: 'Key', ...draft }));
  fixture.canaries.add(made.secret);
  return made;
}

async function replace(id: string, revokeAt: string | null): Promise<NewKey> {
  const path = `${keysPath}/${id}/replace`;
  const made = await answerOf<NewKey>(await owner.send('POST', path, { revoke_at: revokeAt }));
  fixture.canaries.add(made.secret);
  return made;
}

async function listed(): Promise<Key[]> {
  return (await answerOf<{ data: Key[] }>(await owner.send('GET', keysPath))).data;
}

async function keyInList(id: string): Promise<Key | undefined> {
  return (await listed()).find((key) => key.id === id);
}

async function errorOf(response: Response): Promise<[number, string, string | undefined]> {
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code, error.param];
}

function chat(secret: string, model = 'full'): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
  });
}

/** What a request with a key is refused with, or null. */
async function refusalOf(secret: string, model?: string): Promise<string | null> {
  const response = await chat(secret, model);
  const body = (await response.json()) as Partial<ErrorBody>;
  return body.error?.code ?? null;
}

/** Waits until requests with a key are answered like this: a node hears of a change soon, but not at once. */
async function until(expected: string | null, secret: string): Promise<void> {
  await eventually(`the refusal ${expected}`, async () => (await refusalOf(secret)) === expected);
}

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const dayMs = 86_400_000;

/** Everything that the database has on the keys of an account, to see that nothing was changed. */
async function rowsOf(account: string): Promise<string> {
  const rows = await fixture.database.sql`
    select api_keys::text as row from api_keys where account_id = ${account} order by id`;
  return JSON.stringify(rows);
}

type Route = readonly [method: string, path: (key: string) => string, body?: unknown];
const routes: Record<'create' | 'change' | 'replace' | 'revoke', Route> = {
  create: ['POST', () => keysPath, { name: 'Another' }],
  change: ['PATCH', (key) => `${keysPath}/${key}`, { name: 'Renamed' }],
  replace: ['POST', (key) => `${keysPath}/${key}/replace`, { revoke_at: null }],
  revoke: ['POST', (key) => `${keysPath}/${key}/revoke`, {}],
};

describe('who may', () => {
  test.each(['change', 'replace', 'revoke'] as const)(
    '%s a key of another account: not found',
    async (name) => {
      const [method, path, body] = routes[name];
      const before = await rowsOf(fixture.strangersAccount);
      // The account is one's own, the key is not; and the other way round.
      expect(await outcomeFor(owner, method, path(fixture.strangersKeyId), body)).toBe('key_not_found');
      const foreign = path(fixture.keyId).replace(fixture.account, fixture.strangersAccount);
      expect(await outcomeFor(owner, method, foreign, body)).toBe('account_not_found');
      expect(await outcomeFor(fixture.people.stranger, method, foreign, body)).toBe('key_not_found');
      expect(await rowsOf(fixture.strangersAccount)).toBe(before);
    },
  );
});

describe('paths that name nothing', () => {
  const odd = ['1', "' or 1=1 --", '__proto__', 'constructor', '%00', '%', 'é', 'x'.repeat(5_000)];

  test.each(odd)('%p', async (text) => {
    const word = text.startsWith('%') ? text.replace(/^%$/, '%25') : encodeURIComponent(text);
    const elsewhere = `/api/console/accounts/${word}/keys`;
    expect(await outcomeFor(owner, 'GET', elsewhere)).toBe('account_not_found');
    expect(await outcomeFor(owner, 'POST', elsewhere, { name: 'Key' })).toBe('account_not_found');
    expect(await outcomeFor(owner, 'PATCH', `${keysPath}/${word}`, { name: 'x' })).toBe('key_not_found');
    expect(await outcomeFor(owner, 'POST', `${keysPath}/${word}/replace`, { revoke_at: null })).toBe(
      'key_not_found',
    );
    expect(await outcomeFor(owner, 'POST', `${keysPath}/${word}/revoke`, {})).toBe('key_not_found');
  });

  test('an ID that nobody has', async () => {
    expect(await outcomeFor(owner, 'GET', `/api/console/accounts/${newId()}/keys`)).toBe('account_not_found');
    expect(await outcomeFor(owner, 'POST', `${keysPath}/${newId()}/revoke`, {})).toBe('key_not_found');
  });

  test('an ID in capitals is the same ID', async () => {
    const path = `/api/console/accounts/${fixture.account.toUpperCase()}/keys`;
    expect(await outcomeFor(owner, 'GET', path)).toBeNull();
    const { key } = await makeKey();
    const renamed = await owner.send('PATCH', `${path}/${key.id.toUpperCase()}`, { name: 'Shouted' });
    expect((await answerOf<Key>(renamed)).id).toBe(key.id);
  });

  test('a query is refused by name', async () => {
    expect(await errorOf(await owner.send('GET', `${keysPath}?limit=1`))).toEqual([
      400,
      'unsupported_parameter',
      'limit',
    ]);
  });
});

describe('a new key', () => {
  test('is created with the defaults, shown once, and works', async () => {
    const response = await owner.send('POST', keysPath, { name: '  First  ' });
    expect(response.headers.get('cache-control')).toBe('no-store');
    const { key, secret } = await answerOf<NewKey>(response);
    fixture.canaries.add(secret);
    expect(secret).toMatch(/^svc_sk_[0-9A-Za-z]{46}$/);
    expect(key).toEqual({
      id: key.id,
      name: 'First',
      hint: `svc_sk_…${secret.slice(-4)}`,
      state: 'active',
      requests_per_minute: 600,
      max_concurrent: 200,
      monthly_limit: null,
      allowed_models: null,
      expires_at: null,
      revoked_at: null,
      created_at: new Date(key.created_at).toISOString(),
      last_used_at: null,
      month_spent: '0.000000000000',
      held: '0.000000000000',
      month_left: null,
      typical_hold: null,
    });
    // The newest comes first, and the list has only what was shown of it.
    const list = await owner.send('GET', keysPath);
    const text = await list.text();
    expect(text).not.toContain(secret);
    expect((JSON.parse(text) as { data: Key[] }).data[0]).toEqual(key);
    expect(await refusalOf(secret)).toBeNull();
  });

  test('has the requested settings, and they are enforced', async () => {
    const { key, secret } = await makeKey({
      name: 'Überall 🗝️',
      requests_per_minute: 1_000_000,
      max_concurrent: 100_000,
      monthly_limit: '0.000000000001',
      allowed_models: ['full', 'disabled'],
      expires_at: '2099-01-31T12:00:00+02:00',
    });
    expect(key).toMatchObject({
      name: 'Überall 🗝️',
      requests_per_minute: 1_000_000,
      max_concurrent: 100_000,
      monthly_limit: '0.000000000001',
      allowed_models: ['full', 'disabled'],
      expires_at: '2099-01-31T10:00:00.000Z',
    });
    expect(await refusalOf(secret)).toBe('monthly_spend_limit_exceeded');
    expect(await refusalOf(secret, 'plain')).toBe('model_not_allowed');
  });

  const good = { name: 'Key' };
  const many = Array.from({ length: 201 }, (_, index) => `m${index}`);
  test.each([
    [{}, 'missing_required_parameter', 'name'],
    [[], 'invalid_request', undefined],
    [{ name: '' }, 'invalid_parameter', 'name'],
    [{ name: '   ' }, 'invalid_parameter', 'name'],
    [{ name: 'a\nb' }, 'invalid_parameter', 'name'],
    [{ name: 'a\u0000b' }, 'invalid_parameter', 'name'],
    [{ name: 'a\u009bb' }, 'invalid_parameter', 'name'],
    [{ name: 'x'.repeat(201) }, 'invalid_parameter', 'name'],
    [{ name: null }, 'invalid_parameter', 'name'],
    [{ name: { toString: 'x' } }, 'invalid_parameter', 'name'],
    [{ ...good, account_id: newId() }, 'unsupported_parameter', 'account_id'],
    [{ ...good, constructor: 1 }, 'unsupported_parameter', 'constructor'],
    [{ ...good, requests_per_minute: 0 }, 'invalid_parameter', 'requests_per_minute'],
    [{ ...good, requests_per_minute: 1_000_001 }, 'invalid_parameter', 'requests_per_minute'],
    [{ ...good, requests_per_minute: 1.5 }, 'invalid_parameter', 'requests_per_minute'],
    [{ ...good, requests_per_minute: 1e300 }, 'invalid_parameter', 'requests_per_minute'],
    [{ ...good, requests_per_minute: '600' }, 'invalid_parameter', 'requests_per_minute'],
    [{ ...good, requests_per_minute: null }, 'invalid_parameter', 'requests_per_minute'],
    [{ ...good, max_concurrent: 0 }, 'invalid_parameter', 'max_concurrent'],
    [{ ...good, max_concurrent: 100_001 }, 'invalid_parameter', 'max_concurrent'],
    [{ ...good, max_concurrent: 1.5 }, 'invalid_parameter', 'max_concurrent'],
    [{ ...good, max_concurrent: '200' }, 'invalid_parameter', 'max_concurrent'],
    [{ ...good, max_concurrent: null }, 'invalid_parameter', 'max_concurrent'],
    [{ ...good, monthly_limit: 5 }, 'invalid_parameter', 'monthly_limit'],
    [{ ...good, monthly_limit: '' }, 'invalid_parameter', 'monthly_limit'],
    [{ ...good, monthly_limit: '-1' }, 'invalid_parameter', 'monthly_limit'],
    [{ ...good, monthly_limit: '1e3' }, 'invalid_parameter', 'monthly_limit'],
    [{ ...good, monthly_limit: 'NaN' }, 'invalid_parameter', 'monthly_limit'],
    [{ ...good, monthly_limit: '0.0000000000001' }, 'invalid_parameter', 'monthly_limit'],
    [{ ...good, monthly_limit: '1000000000000.01' }, 'invalid_parameter', 'monthly_limit'],
    [{ ...good, monthly_limit: '9'.repeat(400) }, 'invalid_parameter', 'monthly_limit'],
    [{ ...good, allowed_models: [] }, 'invalid_parameter', 'allowed_models'],
    [{ ...good, allowed_models: 'full' }, 'invalid_parameter', 'allowed_models'],
    [{ ...good, allowed_models: many }, 'invalid_parameter', 'allowed_models'],
    [{ ...good, allowed_models: ['full', 7] }, 'invalid_parameter', 'allowed_models[1]'],
    [{ ...good, allowed_models: ['full', 'plain', 'full'] }, 'invalid_parameter', 'allowed_models[2]'],
    [{ ...good, allowed_models: ['full', 'nothing'] }, 'invalid_parameter', 'allowed_models[1]'],
    [{ ...good, allowed_models: ['__proto__'] }, 'invalid_parameter', 'allowed_models[0]'],
    [{ ...good, allowed_models: ['full", "plain'] }, 'invalid_parameter', 'allowed_models[0]'],
    [{ ...good, expires_at: '2020-01-01T00:00:00Z' }, 'invalid_parameter', 'expires_at'],
    [{ ...good, expires_at: '2099-02-30T00:00:00Z' }, 'invalid_parameter', 'expires_at'],
    [{ ...good, expires_at: 'infinity' }, 'invalid_parameter', 'expires_at'],
    [{ ...good, expires_at: 4_070_908_800 }, 'invalid_parameter', 'expires_at'],
  ] as [unknown, string, string | undefined][])('%j is refused: %s %s', async (body, code, param) => {
    const before = await rowsOf(fixture.account);
    expect(await errorOf(await owner.send('POST', keysPath, body))).toEqual([400, code, param]);
    expect(await rowsOf(fixture.account)).toBe(before);
  });

  test('a field named __proto__ is a field like any other that does not exist', async () => {
    const response = await fetch(`${fixture.gateway.origin}${keysPath}`, {
      method: 'POST',
      headers: { cookie: owner.cookie, origin: fixture.gateway.origin, 'content-type': 'application/json' },
      body: '{"name":"Key","__proto__":{"requests_per_minute":1}}',
    });
    expect(await errorOf(response)).toEqual([400, 'unsupported_parameter', '__proto__']);
  });
});

test.each(['create', 'change', 'replace', 'revoke'] as const)(
  '%s: a body of more than 64 KB is not taken in',
  async (name) => {
    const [method, path, body] = routes[name];
    const response = await fetch(`${fixture.gateway.origin}${path(fixture.keyId)}`, {
      method,
      headers: { cookie: owner.cookie, origin: fixture.gateway.origin, 'content-type': 'application/json' },
      body: `${JSON.stringify(body)}${' '.repeat(64 * 1024)}`,
    });
    expect(await errorOf(response)).toEqual([400, 'invalid_request', undefined]);
    expect((await keyInList(fixture.keyId))?.state).toBe('active');
  },
);

describe('a change', () => {
  const change = (id: string, body: unknown) => owner.send('PATCH', `${keysPath}/${id}`, body);

  test('changes what it names and nothing else, and null removes a limit', async () => {
    const settings = {
      requests_per_minute: 5,
      max_concurrent: 3,
      monthly_limit: '5.000000000000',
      allowed_models: ['full'],
      expires_at: inMs(dayMs),
    };
    const { key } = await makeKey(settings);
    expect(key).toMatchObject(settings);
    expect(await answerOf<Key>(await change(key.id, {}))).toEqual(key);
    let expected = key;
    for (const [part, shown] of [
      [{ name: 'New' }, {}],
      [{ requests_per_minute: 7 }, {}],
      [{ max_concurrent: 8 }, {}],
      [{ monthly_limit: '0' }, { monthly_limit: '0.000000000000', month_left: '0.000000000000' }],
      [{ monthly_limit: null }, { month_left: null }],
      [{ allowed_models: ['plain', 'full'] }, {}],
      [{ allowed_models: null }, {}],
      [{ expires_at: null }, {}],
    ] as [Partial<Key>, Partial<Key>][]) {
      expected = { ...expected, ...part, ...shown };
      expect(await answerOf<Key>(await change(key.id, part))).toEqual(expected);
    }
    expect(await keyInList(key.id)).toEqual(expected);
  });

  test('counts for the requests that come after it', async () => {
    const { key, secret } = await makeKey();
    expect(await refusalOf(secret)).toBeNull();
    await answerOf<Key>(await change(key.id, { allowed_models: ['plain'] }));
    await until('model_not_allowed', secret);
    await answerOf<Key>(await change(key.id, { allowed_models: null, monthly_limit: '0' }));
    await until('monthly_spend_limit_exceeded', secret);
  });

  test('keeps a model on the list that the catalogue no longer has, but accepts no new one', async () => {
    const { key } = await makeKey({ allowed_models: ['full'] });
    await fixture.database.sql`
      update api_keys set allowed_models = array['full', 'former'] where id = ${key.id}`;
    const kept = await answerOf<Key>(await change(key.id, { allowed_models: ['former', 'plain'] }));
    expect(kept.allowed_models).toEqual(['former', 'plain']);
    const refused = await change(key.id, {
      name: 'Not this',
      allowed_models: ['former', 'plain', 'another'],
    });
    expect(await errorOf(refused)).toEqual([400, 'invalid_parameter', 'allowed_models[2]']);
    expect(await keyInList(key.id)).toEqual(kept);
  });

  test('of a revoked key is refused; an expired one can be given more time', async () => {
    const { key, secret } = await makeKey();
    await fixture.database.sql`update api_keys set expires_at = now() - interval '1 s' where id = ${key.id}`;
    expect((await keyInList(key.id))?.state).toBe('expired');
    expect(await refusalOf(secret)).toBe('expired_api_key');
    expect((await answerOf<Key>(await change(key.id, { expires_at: inMs(dayMs) }))).state).toBe('active');
    await until(null, secret);
    await answerOf<Key>(await owner.send('POST', `${keysPath}/${key.id}/revoke`, {}));
    const before = await rowsOf(fixture.account);
    expect(await errorOf(await change(key.id, { name: 'Late' }))).toEqual([400, 'key_ended', undefined]);
    expect(await rowsOf(fixture.account)).toBe(before);
  });

  test.each([
    [{ name: null }, 'name'],
    [{ requests_per_minute: null }, 'requests_per_minute'],
    [{ max_concurrent: 0 }, 'max_concurrent'],
    [{ monthly_limit: '1.0000000000001' }, 'monthly_limit'],
    [{ allowed_models: ['nothing'] }, 'allowed_models[0]'],
    [{ expires_at: '2020-01-01' }, 'expires_at'],
  ])('%j is refused', async (body, param) => {
    const before = await rowsOf(fixture.account);
    expect(await errorOf(await change(fixture.keyId, body))).toEqual([400, 'invalid_parameter', param]);
    expect(await rowsOf(fixture.account)).toBe(before);
  });

  test('cannot move a key to another account or choose its secret', async () => {
    for (const field of ['account_id', 'hash', 'id', 'revoked_at', 'state'])
      expect(await errorOf(await change(fixture.keyId, { [field]: 'x' }))).toEqual([
        400,
        'unsupported_parameter',
        field,
      ]);
  });
});

describe('a replacement', () => {
  const settings = {
    name: 'Production',
    requests_per_minute: 1_234,
    max_concurrent: 56,
    monthly_limit: '50.000000000000',
    allowed_models: ['full', 'plain'],
    expires_at: inMs(40 * dayMs),
  };

  test('has the settings of the old key and spends from zero; the old one is refused at once', async () => {
    const old = await makeKey(settings);
    expect(await refusalOf(old.secret)).toBeNull();
    expect(Number((await keyInList(old.key.id))?.month_spent)).toBeGreaterThan(0);
    const made = await replace(old.key.id, null);
    expect(made.key).toMatchObject({ ...settings, state: 'active', month_spent: '0.000000000000' });
    expect(made.key.id).not.toBe(old.key.id);
    expect(await refusalOf(old.secret)).toBe('invalid_api_key');
    expect(await refusalOf(made.secret)).toBeNull();
    expect((await keyInList(old.key.id))?.state).toBe('revoked');
  });

  test('leaves the old key in force until the chosen time, and not for longer', async () => {
    const old = await makeKey();
    const revokeAt = inMs(2_000);
    const made = await replace(old.key.id, revokeAt);
    expect(await keyInList(old.key.id)).toMatchObject({ state: 'replaced', revoked_at: revokeAt });
    expect(await refusalOf(old.secret)).toBeNull();
    expect(await refusalOf(made.secret)).toBeNull();
    await until('invalid_api_key', old.secret);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(revokeAt));
    expect((await keyInList(old.key.id))?.state).toBe('revoked');
    expect(await refusalOf(made.secret)).toBeNull();
  });

  test('the ledger, which has the last word, keeps to the chosen time too', async () => {
    const { key } = await makeKey();
    const isRevoked = async () => {
      const [row] = await fixture.database.sql`
        select ledger_lock('{}', array[${key.id}::uuid], '{}') as locked`;
      return row.locked.meters[0].isRevoked;
    };
    await replace(key.id, inMs(dayMs));
    expect(await isRevoked()).toBe(false);
    await fixture.database.sql`update api_keys set revoked_at = now() where id = ${key.id}`;
    expect(await isRevoked()).toBe(true);
  });

  test('is created once, however many ask for it at the same time', async () => {
    const old = await makeKey({ name: 'Contested' });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        owner.send('POST', `${keysPath}/${old.key.id}/replace`, {
          revoke_at: index % 2 === 0 ? null : inMs(dayMs),
        }),
      ),
    );
    const made = answers.filter(({ status }) => status === 200);
    expect(made).toHaveLength(1);
    for (const answer of answers.filter((one) => !made.includes(one)))
      expect(await errorOf(answer)).toEqual([400, 'key_ended', undefined]);
    expect((await listed()).filter(({ name }) => name === 'Contested')).toHaveLength(2);
  });

  test('of a key that was replaced, was revoked or has expired is refused', async () => {
    const [replaced, revoked, expired] = [await makeKey(), await makeKey(), await makeKey()];
    await replace(replaced.key.id, inMs(dayMs));
    await answerOf(await owner.send('POST', `${keysPath}/${revoked.key.id}/revoke`, {}));
    await fixture.database.sql`update api_keys set expires_at = now() where id = ${expired.key.id}`;
    const before = await rowsOf(fixture.account);
    for (const { key } of [replaced, revoked, expired])
      expect(await outcomeFor(owner, 'POST', `${keysPath}/${key.id}/replace`, { revoke_at: null })).toBe(
        'key_ended',
      );
    expect(await rowsOf(fixture.account)).toBe(before);
  });

  test.each([
    ['nothing', {}, 'missing_required_parameter', 'revoke_at'],
    ['the past', { revoke_at: '2020-01-01T00:00:00Z' }, 'invalid_parameter', 'revoke_at'],
    ['more than 30 days', { revoke_at: inMs(31 * dayMs) }, 'invalid_parameter', 'revoke_at'],
    ['no time', { revoke_at: 'tomorrow' }, 'invalid_parameter', 'revoke_at'],
    ['another name', { revoke_at: null, name: 'x' }, 'unsupported_parameter', 'name'],
  ])('with %s is refused', async (_what, body, code, param) => {
    const path = `${keysPath}/${fixture.keyId}/replace`;
    expect(await errorOf(await owner.send('POST', path, body))).toEqual([400, code, param]);
    expect((await keyInList(fixture.keyId))?.state).toBe('active');
  });
});

describe('revoking', () => {
  const revoke = async (id: string) =>
    await answerOf<Key>(await owner.send('POST', `${keysPath}/${id}/revoke`, {}));

  test('ends a key at once, and a second time changes nothing', async () => {
    const { key, secret } = await makeKey();
    expect(await refusalOf(secret)).toBeNull();
    const revoked = await revoke(key.id);
    expect(revoked.state).toBe('revoked');
    expect(await refusalOf(secret)).toBe('invalid_api_key');
    expect(await revoke(key.id)).toEqual(revoked);
  });

  test('ends a replaced key before its time', async () => {
    const { key, secret } = await makeKey();
    await replace(key.id, inMs(dayMs));
    expect(await refusalOf(secret)).toBeNull();
    const revoked = await revoke(key.id);
    expect(revoked.state).toBe('revoked');
    expect(Date.parse(revoked.revoked_at ?? '')).toBeLessThanOrEqual(Date.now());
    expect(await refusalOf(secret)).toBe('invalid_api_key');
  });

  test('takes no settings', async () => {
    const response = await owner.send('POST', `${keysPath}/${fixture.keyId}/revoke`, {
      revoke_at: inMs(dayMs),
    });
    expect(await errorOf(response)).toEqual([400, 'unsupported_parameter', 'revoke_at']);
    expect((await keyInList(fixture.keyId))?.state).toBe('active');
  });
});

describe('many keys', () => {
  /** Inserts keys into a separate account of the owner, bypassing the console's checks, in the order of these states. */
  async function accountWith(keys: readonly Readonly<{ count: number; state: Key['state'] }>[]) {
    const { sql } = fixture.database;
    const account = newId();
    await sql`insert into accounts (id, name) values (${account}, 'Crowded')`;
    await sql`insert into memberships (user_id, account_id, role)
      select id, ${account}, 'owner' from users where email in ('owner@example.com', 'member@example.com')`;
    for (const { count, state } of keys) {
      const ids = Array.from({ length: count }, newId);
      await sql`
        insert into api_keys (id, account_id, name, hash, hint, requests_per_minute, revoked_at, expires_at)
        select id, ${account}, ${state}, sha256(id::text::bytea), 'svc_sk_…0000', 600,
               case ${state} when 'revoked' then now() when 'replaced' then now() + interval '1 day' end,
               case ${state} when 'expired' then now() end
        from unnest(${sql.array(ids, 'uuid')}::uuid[]) as id`;
      await sql`
        insert into api_key_meters (key_id)
        select id from api_keys where account_id = ${account} on conflict do nothing`;
    }
    return { account, keys: `/api/console/accounts/${account}/keys` };
  }

  async function inForce(account: string): Promise<number> {
    const [row] = await fixture.database.sql`
      select count(*)::int as count from api_keys
      where account_id = ${account} and coalesce(revoked_at > now(), true) and coalesce(expires_at > now(), true)`;
    return row.count;
  }

  async function firstIn(path: string, state: Key['state']): Promise<string> {
    const { data } = await answerOf<{ data: Key[] }>(await owner.send('GET', path));
    return data.find((key) => key.state === state)?.id ?? '';
  }

  test('1,000 are in force and no more, however many ask for the last ones at the same time', async () => {
    const { account, keys } = await accountWith([
      { count: 300, state: 'revoked' },
      { count: 300, state: 'expired' },
      { count: 5, state: 'replaced' },
      { count: 990, state: 'active' },
    ]);
    const { member } = fixture.people;
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        (index % 2 === 0 ? owner : member).send('POST', keys, { name: `Key ${index}` }),
      ),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(11);
    for (const answer of refused) expect(await errorOf(answer)).toEqual([400, 'too_many_keys', undefined]);
    expect(await inForce(account)).toBe(1_000);
    await answerOf(await owner.send('POST', `${keys}/${await firstIn(keys, 'active')}/revoke`, {}));
    await answerOf(await owner.send('POST', keys, { name: 'In its place' }));
  });

  test('a full account: a key is replaced at once only, and none comes back, but all can be changed', async () => {
    const { account, keys } = await accountWith([
      { count: 1, state: 'expired' },
      { count: 1_000, state: 'active' },
    ]);
    const active = await firstIn(keys, 'active');
    const expired = await firstIn(keys, 'expired');
    const refused = [
      await owner.send('POST', `${keys}/${active}/replace`, { revoke_at: inMs(dayMs) }),
      await owner.send('PATCH', `${keys}/${expired}`, { expires_at: null }),
      await owner.send('PATCH', `${keys}/${expired}`, { expires_at: inMs(dayMs) }),
    ];
    for (const answer of refused) expect(await errorOf(answer)).toEqual([400, 'too_many_keys', undefined]);
    expect([await firstIn(keys, 'active'), await firstIn(keys, 'expired')]).toEqual([active, expired]);
    await answerOf(await owner.send('PATCH', `${keys}/${expired}`, { name: 'Renamed' }));
    await answerOf(await owner.send('PATCH', `${keys}/${active}`, { expires_at: inMs(dayMs) }));
    await answerOf(await owner.send('POST', `${keys}/${active}/replace`, { revoke_at: null }));
    expect(await inForce(account)).toBe(1_000);
  });

  test('an operator can go beyond it, and what there is can still be replaced', async () => {
    const { account, keys } = await accountWith([{ count: 1_000, state: 'active' }]);
    await runCommand(['key', 'create', '--account', account], fixture.environment);
    expect(await inForce(account)).toBe(1_001);
    await answerOf(
      await owner.send('POST', `${keys}/${await firstIn(keys, 'active')}/replace`, { revoke_at: null }),
    );
    expect(await outcomeFor(owner, 'POST', keys, { name: 'Another' })).toBe('too_many_keys');
  });

  test('the list has all that are in force and the newest 200 of the others, the newest first', async () => {
    const { keys } = await accountWith([
      { count: 3, state: 'active' },
      { count: 150, state: 'revoked' },
      { count: 150, state: 'expired' },
      { count: 2, state: 'replaced' },
    ]);
    const { data } = await answerOf<{ data: Key[] }>(await owner.send('GET', keys));
    const expected = { replaced: 2, expired: 150, revoked: 50, active: 3 };
    expect(data.map(({ state }) => state)).toEqual(
      Object.entries(expected).flatMap(([state, count]) =>
        Array.from({ length: count }, () => state as Key['state']),
      ),
    );
    expect(data.map(({ id }) => id)).toEqual(
      data
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
    // A key that is not listed can still be revoked.
    const [oldest] = await fixture.database.sql`
      select id from api_keys where account_id = ${keys.split('/')[4]} and name = 'revoked' order by id limit 1`;
    const again = await owner.send('POST', `${keys}/${oldest.id}/revoke`, {});
    expect((await answerOf<Key>(again)).id).toBe(oldest.id);
  });
});

describe('one key', () => {
  const one = async (id: string, who = owner) => await who.send('GET', `${keysPath}/${id}`);

  test('is as in the list, with what of its rate and concurrency is in use', async () => {
    const { sql } = fixture.database;
    const { key } = await makeKey({ requests_per_minute: 60, max_concurrent: 5 });
    expect(await answerOf<KeyDetail>(await one(key.id))).toEqual({
      ...key,
      now: { rate_used: 0, open: 0 },
    });
    // Half a minute ahead of its rate, so that half of it is used up.
    await sql`
      update api_key_meters set open_count = 3, theoretical_arrival_at = now() + interval '30 seconds'
      where key_id = ${key.id}`;
    const { now } = await answerOf<KeyDetail>(await one(key.id, fixture.people.operator));
    await sql`update api_key_meters set open_count = 0 where key_id = ${key.id}`;
    expect(now.open).toBe(3);
    expect(now.rate_used).toBeWithin(20, 31);
  });

  test('of another account is none', async () => {
    expect(await errorOf(await one(fixture.strangersKeyId))).toEqual([404, 'key_not_found', undefined]);
    expect(await errorOf(await one('odd'))).toEqual([404, 'key_not_found', undefined]);
    const { key } = await makeKey();
    const [status, code] = await errorOf(await one(key.id, fixture.people.stranger));
    expect([status, code]).toEqual([404, 'account_not_found']);
  });
});

describe('the list', () => {
  test('says what a key spent this month, and nothing about earlier months', async () => {
    const { key, secret } = await makeKey();
    const response = await chat(secret);
    expect(response.status).toBe(200);
    const [charge] = await fixture.database
      .sql`select cost::text from usage_records where key_id = ${key.id}`;
    expect(await keyInList(key.id)).toMatchObject({ month_spent: charge.cost, held: '0.000000000000' });
    expect(Date.parse((await keyInList(key.id))?.last_used_at ?? '')).toBeLessThanOrEqual(Date.now());
    const { sql } = fixture.database;
    await sql`update api_key_meters set month = month - interval '1 month' where key_id = ${key.id}`;
    await sql`update usage_records set month = month - interval '1 month' where key_id = ${key.id}`;
    expect((await keyInList(key.id))?.month_spent).toBe('0.000000000000');
  });

  test('shows that a key is blocked by the rest of its limit, however little it has used', async () => {
    const { key, secret } = await makeKey();
    expect(key).toMatchObject({ month_left: null, typical_hold: null });
    expect((await chat(secret)).status).toBe(200);
    const { sql } = fixture.database;
    const [row] = await sql<[{ hold: string; cost: string }]>`
      select hold, cost_total as cost from generations where key_id = ${key.id}`;
    expect(moneyFromDatabase(row.hold)).toBeGreaterThan(2n * moneyFromDatabase(row.cost));
    const limitTo = async (limit: bigint) => {
      const change = { monthly_limit: formatMoney(limit) };
      return await answerOf<Key>(await owner.send('PATCH', `${keysPath}/${key.id}`, change));
    };
    const limit = moneyFromDatabase(row.hold);
    const left = formatMoney(limit - moneyFromDatabase(row.cost));
    const blocked = { month_left: left, typical_hold: row.hold };
    expect(await limitTo(limit)).toMatchObject(blocked);
    expect(await keyInList(key.id)).toMatchObject(blocked);
    expect(await errorOf(await chat(secret))).toEqual([403, 'monthly_spend_limit_exceeded', undefined]);
    const response = await owner.send('GET', keysPath.replace(/keys$/, 'overview'));
    const { attention } = await answerOf<Overview>(response);
    const notice = { kind: 'key_blocked', key_id: key.id, name: 'Key', left, typical_hold: row.hold };
    expect(attention.find(({ kind }) => kind === 'key_blocked') as unknown).toEqual(notice);
    // With room for the next request nobody is warned.
    await limitTo(100n * limit);
    expect((await chat(secret)).status).toBe(200);
    const after = await answerOf<Overview>(await owner.send('GET', keysPath.replace(/keys$/, 'overview')));
    expect(after.attention.filter(({ kind }) => kind === 'key_blocked')).toEqual([]);
    // A key that has ended needs no forecast.
    await owner.send('POST', `${keysPath}/${key.id}/revoke`, {});
    expect(await keyInList(key.id)).toMatchObject({ month_left: null, typical_hold: null });
  });

  test('is empty for an account without keys', async () => {
    const { sql } = fixture.database;
    const lonely = newId();
    await sql`insert into accounts (id, name) values (${lonely}, 'Lonely')`;
    await sql`insert into memberships (user_id, account_id, role)
              select id, ${lonely}, 'member' from users where email = 'member@example.com'`;
    const response = await fixture.people.member.send('GET', `/api/console/accounts/${lonely}/keys`);
    expect(await answerOf<Keys>(response)).toEqual({ data: [], limited: [] });
  });

  test('500 api_keys_lookup_failed when the keys cannot be read', async () => {
    const { sql } = fixture.database;
    await sql`alter view key_overviews rename to key_overviews_away`;
    try {
      const response = await owner.send('GET', keysPath);
      expect(await errorOf(response)).toEqual([500, 'api_keys_lookup_failed', undefined]);
    } finally {
      await sql`alter view key_overviews_away rename to key_overviews`;
    }
  });
});
