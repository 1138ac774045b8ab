/** Limits at the admin API: how they are set, read, changed and removed, and what is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newId } from '../../src/lib/ids.ts';
import {
  type AdminFixture,
  bodyOf,
  openAdminFixture,
  type Program,
  refusalOf,
} from '../support/admin-fixture.ts';

let fixture: AdminFixture;
let program: Program;

beforeAll(async () => {
  fixture = await openAdminFixture();
  program = await fixture.program();
});

afterAll(() => fixture.close());

type Limit = {
  id: string;
  scope: string;
  kind: string;
  amount: string;
  increase: { amount: string; until: string } | null;
  used: string | null;
};
type List = { data: Limit[]; has_more: boolean; next_cursor: string | null };

const perDay = { scope: 'account', kind: 'spend_per_day', amount: '10' };
const later = '2099-01-31T12:00:00.000Z';

async function newAccount() {
  const { account, key, keyId } = await fixture.customer('10');
  const path = `/accounts/${account}/limits`;
  const set = (draft: object) => bodyOf<Limit>(program.send('POST', path, draft));
  const refuse = (draft: object) => refusalOf(program.send('POST', path, draft));
  return { account, key, keyId, path, set, refuse };
}

async function chat(key: string, endUser?: string): Promise<Response> {
  return await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(endUser === undefined ? {} : { 'x-end-user': endUser }),
    },
    body: JSON.stringify({
      model: 'full',
      max_tokens: 5,
      messages: [{ role: 'user', content: '[[usage 10 5]] hi' }],
    }),
  });
}

test('a limit applies to the next request, shows what it used, and is changed with its ETag', async () => {
  const { account, key, path, set } = await newAccount();
  const { id } = await set({ ...perDay, increase: { amount: '2.5', until: later } });
  expect((await chat(key)).status).toBe(200);
  const read = await program.send('GET', `/limits/${id}`);
  const limit = (await read.json()) as Limit;
  expect(limit as unknown).toEqual({
    object: 'limit',
    id,
    account_id: account,
    scope: 'account',
    key_id: null,
    end_user: null,
    kind: 'spend_per_day',
    set_by: 'operator',
    amount: '10',
    increase: { amount: '2.5', until: later },
    used: expect.stringMatching(/^0\.0*[1-9]/),
    held: '0',
    resets_at: expect.stringMatching(/T00:00:00\.000Z$/),
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  const ifMatch = { 'if-match': read.headers.get('etag') ?? '' };
  const lowered = await program.send('PATCH', `/limits/${id}`, { amount: '0', increase: null }, ifMatch);
  expect(await lowered.json()).toMatchObject({ amount: '0', increase: null, used: limit.used });
  const [status, code] = await refusalOf(chat(key));
  expect([status, code]).toEqual([403, 'spend_limit_exceeded']);
  const again = program.send('PATCH', `/limits/${id}`, { amount: '3' }, ifMatch);
  expect(await refusalOf(again)).toEqual([412, 'precondition_failed', 'If-Match']);
  expect(await refusalOf(program.send('PATCH', `/limits/${id}`, { amount: '3' }))).toEqual([
    428,
    'precondition_required',
    'If-Match',
  ]);
  const stale = program.send('DELETE', `/limits/${id}`, undefined, ifMatch);
  expect(await refusalOf(stale)).toEqual([412, 'precondition_failed', 'If-Match']);
  expect(await bodyOf(program.send('DELETE', `/limits/${id}`))).toEqual({
    object: 'limit',
    id,
    deleted: true,
  });
  expect((await chat(key)).status).toBe(200);
  for (const method of ['GET', 'DELETE'])
    expect(await refusalOf(program.send(method, `/limits/${id}`))).toEqual([
      404,
      'limit_not_found',
      undefined,
    ]);
  expect((await bodyOf<List>(program.send('GET', path))).data).toEqual([]);
  const { data } = await bodyOf<{ data: { action: string; target: { name: string | null } }[] }>(
    program.send('GET', `/audit-log?account=${account}&limit=3`),
  );
  expect(data.map(({ action }) => action)).toEqual(['remove_limit', 'update_limit', 'create_limit']);
});

test('a list has the newest first, in pages of signed cursors, by key or end user', async () => {
  const { keyId, path, set } = await newAccount();
  const ids: string[] = [];
  for (const draft of [
    perDay,
    { ...perDay, scope: 'key', key_id: keyId },
    { ...perDay, scope: 'end_user', end_user: ' ann ' },
    { scope: 'each_end_user', kind: 'concurrent_requests', amount: 3 },
  ])
    ids.unshift((await set(draft)).id);
  const list = (query: string) => bodyOf<List>(program.send('GET', `${path}?${query}`));
  const first = await list('limit=3');
  expect(first.data.map(({ id }) => id)).toEqual(ids.slice(0, 3));
  expect(first.data[0]).toMatchObject({ amount: '3', used: null, held: null, resets_at: null });
  const second = await list(`limit=3&cursor=${first.next_cursor}`);
  expect([second.data.map(({ id }) => id), second.has_more]).toEqual([ids.slice(3), false]);
  expect((await list(`key_id=${keyId}`)).data.map(({ scope }) => scope)).toEqual(['key']);
  expect((await list('end_user=ann')).data.map(({ id }) => id)).toEqual(ids.slice(1, 2));
  const wrong = program.send('GET', `${path}?end_user=ann&cursor=${first.next_cursor}`);
  expect(await refusalOf(wrong)).toEqual([400, 'invalid_cursor', 'cursor']);
  for (const [name, value] of [
    ['key_id', 'x'],
    ['end_user', '%00'],
  ] as const)
    expect(await refusalOf(program.send('GET', `${path}?${name}=${value}`))).toEqual([
      400,
      'invalid_parameter',
      name,
    ]);
});

test('the same limit is set once: a retry gets the first response, another request is refused', async () => {
  const { path, refuse } = await newAccount();
  const headers = { 'idempotency-key': 'limit-1' };
  const first = await bodyOf<Limit>(program.send('POST', path, perDay, headers));
  const retried = await program.send('POST', path, perDay, headers);
  expect([retried.status, retried.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
  expect(((await retried.json()) as Limit).id).toBe(first.id);
  expect(await refuse(perDay)).toEqual([409, 'limit_exists', undefined]);
});

test('a key that replaces another has the same limits, of which nothing is used', async () => {
  const { account, key, keyId, path, set } = await newAccount();
  await set({ ...perDay, scope: 'key', key_id: keyId, increase: { amount: '1', until: later } });
  expect((await chat(key)).status).toBe(200);
  const replace = program.send('POST', `/accounts/${account}/keys/${keyId}/replace`, { revoke_at: null });
  const { id, secret } = await bodyOf<{ id: string; secret: string }>(replace);
  fixture.canaries.add(secret);
  const { data } = await bodyOf<List>(program.send('GET', `${path}?key_id=${id}`));
  expect(data).toMatchObject([{ amount: '10', increase: { amount: '1', until: later }, used: '0' }]);
});

test('an account has at most 10,000, whatever its owners have set', async () => {
  const { account, refuse, path, set } = await newAccount();
  await fixture.database.sql`
    insert into limits (id, account_id, scope, end_user, kind, amount, is_operators)
    select gen_random_uuid(), ${account}, 'end_user', number, 'spend_per_day', 1, false
    from generate_series(1, 10000) as number`;
  await set({ ...perDay, kind: 'spend_per_week' });
  await fixture.database.sql`update limits set is_operators = true where account_id = ${account}`;
  expect(await refuse(perDay)).toEqual([400, 'too_many_limits', undefined]);
  expect((await bodyOf<List>(program.send('GET', `${path}?end_user=7`))).data).toHaveLength(1);
});

describe('refused with the name of the parameter', () => {
  const cases: [name: string, draft: (keyId: string) => object, code: string, param: string | undefined][] = [
    ['an unknown field', () => ({ ...perDay, window: 'day' }), 'unsupported_parameter', 'window'],
    [
      'no amount',
      () => ({ scope: 'account', kind: 'spend_per_day' }),
      'missing_required_parameter',
      'amount',
    ],
    ['an unknown scope', () => ({ ...perDay, scope: 'team' }), 'invalid_parameter', 'scope'],
    ['an unknown kind', () => ({ ...perDay, kind: 'spend_per_year' }), 'invalid_parameter', 'kind'],
    ['money as a number', () => ({ ...perDay, amount: 10 }), 'invalid_parameter', 'amount'],
    ['less than nothing', () => ({ ...perDay, amount: '-1' }), 'invalid_parameter', 'amount'],
    ['a trillion and more', () => ({ ...perDay, amount: '1000000000001' }), 'invalid_parameter', 'amount'],
    [
      'no requests at all',
      () => ({ ...perDay, kind: 'requests_per_minute', amount: '0' }),
      'invalid_parameter',
      'amount',
    ],
    [
      'half a token',
      () => ({ ...perDay, kind: 'tokens_per_minute', amount: '1.5' }),
      'invalid_parameter',
      'amount',
    ],
    ['no key', () => ({ ...perDay, scope: 'key' }), 'missing_required_parameter', 'key_id'],
    ['a key for the account', (key) => ({ ...perDay, key_id: key }), 'invalid_parameter', 'key_id'],
    ['no end user', () => ({ ...perDay, scope: 'end_user' }), 'missing_required_parameter', 'end_user'],
    [
      'an end user that no request could name',
      () => ({ ...perDay, scope: 'end_user', end_user: 'a\nb' }),
      'invalid_parameter',
      'end_user',
    ],
    [
      'what a key has a setting for',
      (key) => ({ scope: 'key', key_id: key, kind: 'spend_per_month', amount: '1' }),
      'invalid_parameter',
      'kind',
    ],
    [
      'an increase of nothing',
      () => ({ ...perDay, increase: { amount: '0', until: later } }),
      'invalid_parameter',
      'increase.amount',
    ],
    [
      'an increase that has ended',
      () => ({ ...perDay, increase: { amount: '1', until: '2020-01-01' } }),
      'invalid_parameter',
      'increase.until',
    ],
    [
      'an increase without an end',
      () => ({ ...perDay, increase: { amount: '1' } }),
      'missing_required_parameter',
      'increase.until',
    ],
  ];

  test('when it is set', async () => {
    const { keyId, path, refuse } = await newAccount();
    for (const [name, draft, code, param] of cases)
      expect([name, ...(await refuse(draft(keyId)))]).toEqual([name, 400, code, param]);
    const others = await fixture.customer('1');
    for (const key of [newId(), others.keyId])
      expect(await refuse({ ...perDay, scope: 'key', key_id: key })).toEqual([
        404,
        'key_not_found',
        undefined,
      ]);
    expect((await bodyOf<List>(program.send('GET', path))).data).toEqual([]);
  });

  test('when it is changed', async () => {
    const { set } = await newAccount();
    const { id } = await set({ ...perDay, kind: 'requests_per_minute', amount: '60' });
    for (const [change, code, param] of [
      [{ amount: '0.5' }, 'invalid_parameter', 'amount'],
      [{ kind: 'spend_per_day' }, 'unsupported_parameter', 'kind'],
      [{ increase: { amount: '1.5', until: later } }, 'invalid_parameter', 'increase.amount'],
      [{ increase: { amount: '1', until: '2020-01-01' } }, 'invalid_parameter', 'increase.until'],
    ] as const)
      expect(await refusalOf(program.send('PATCH', `/limits/${id}`, change, { 'if-match': '*' }))).toEqual([
        400,
        code,
        param,
      ]);
    const changed = program.send('PATCH', `/limits/${id}`, { amount: 90 }, { 'if-match': '*' });
    expect((await bodyOf<Limit>(changed)).amount).toBe('90');
  });
});
