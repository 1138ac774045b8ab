/** The admin API: the life of a customer, what is refused, and how two programs do not undo each other. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type AdminFixture,
  bodyOf,
  openAdminFixture,
  type Program,
  refusalOf,
  senderFor,
} from '../support/admin-fixture.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';
import { startMailServer } from '../support/mail-server.ts';

let fixture: AdminFixture;
let program: Program;

beforeAll(async () => {
  fixture = await openAdminFixture();
  program = await fixture.program();
});

afterAll(() => fixture.close());

type Account = {
  id: string;
  name: string;
  external_id: string | null;
  balance: string;
  is_suspended: boolean;
};
type Key = { id: string; name: string; state: string; secret: string; monthly_limit: string | null };
type List<Item> = { object: 'list'; data: Item[]; has_more: boolean; next_cursor: string | null };

const newAccount = (draft: object = {}) =>
  bodyOf<Account>(program.send('POST', '/accounts', { name: 'Acme', ...draft }));

async function chat(key: string): Promise<Response> {
  return await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content: '[[usage 10 5]] hi' }] }),
  });
}

test('the whole life of a customer', async () => {
  const { send } = program;
  const created = await send('POST', '/accounts', {
    name: 'Acme',
    external_id: 'crm/7421 ü',
    metadata: { plan: 'gold' },
  });
  expect(created.status).toBe(201);
  const account = (await created.json()) as Account;
  expect(account as unknown).toEqual({
    object: 'account',
    id: expect.any(String),
    external_id: 'crm/7421 ü',
    name: 'Acme',
    metadata: { plan: 'gold' },
    is_suspended: false,
    balance: '0.000000000000',
    held: '0.000000000000',
    available: '0.000000000000',
    balances: { paid: '0.000000000000', promotional: '0.000000000000', allowance: '0.000000000000' },
    month_spent: '0.000000000000',
    price_group: null,
    low_balance: null,
    keys_in_force: 0,
    members: 0,
    created_at: expect.stringMatching(/Z$/),
  });
  const path = `/accounts/external_id:${encodeURIComponent('crm/7421 ü')}`;
  expect((await bodyOf<Account>(send('GET', path))).id).toBe(account.id);

  const credit = { amount: '10', reference: 'INV-1' };
  const given = await bodyOf(send('POST', `${path}/credits`, credit));
  expect(given).toEqual({
    object: 'credit',
    account_id: account.id,
    entry_number: 1,
    amount: '10.000000000000',
    memo: 'INV-1',
    reference: 'INV-1',
    balance: '10.000000000000',
    already_credited: false,
  });
  expect(await bodyOf(send('POST', `${path}/credits`, credit))).toMatchObject({
    balance: '10.000000000000',
    already_credited: true,
  });
  expect(await refusalOf(send('POST', `${path}/credits`, { ...credit, amount: '11' }))).toEqual([
    409,
    'reference_in_use',
    'reference',
  ]);
  expect(await refusalOf(send('POST', `${path}/credits`, { ...credit, memo: 'Other' }))).toEqual([
    409,
    'reference_in_use',
    'reference',
  ]);

  const key = await bodyOf<Key>(send('POST', `${path}/keys`, { name: 'CI', monthly_limit: '5' }));
  const answered = await chat(key.secret);
  expect(answered.status).toBe(200);
  const generation = answered.headers.get('x-service-request-id') ?? '';
  const shown = await bodyOf<{ month_spent: string; last_used_at: string | null }>(
    send('GET', `${path}/keys/${key.id}`),
  );
  expect(Number(shown.month_spent)).toBeGreaterThan(0);

  const entries = await bodyOf<List<{ number: number; kind: string }>>(send('GET', `${path}/ledger-entries`));
  expect(entries.data.map(({ number, kind }) => [number, kind])).toEqual([
    [2, 'charge'],
    [1, 'credit'],
  ]);
  expect(await bodyOf(send('GET', `${path}/ledger-entries/2`))).toEqual(entries.data[0] as never);
  expect(await refusalOf(send('GET', `${path}/ledger-entries/3`))).toEqual([
    404,
    'entry_not_found',
    undefined,
  ]);
  const found = await bodyOf<{ id: string; account: { id: string } }>(
    send('GET', `/generations/${generation}`),
  );
  expect([found.id, found.account.id]).toEqual([generation, account.id]);
  const generations = await bodyOf<List<{ id: string }>>(send('GET', `${path}/generations?model=full`));
  expect(generations.data.map(({ id }) => id)).toEqual([generation]);
  await eventually('usage', async () => {
    const usage = await bodyOf<{ totals: { requests: number } }>(send('GET', `${path}/usage`));
    return usage.totals.requests === 1;
  });

  const soon = new Date(Date.now() + 60_000).toISOString();
  const next = await bodyOf<Key>(send('POST', `${path}/keys/${key.id}/replace`, { revoke_at: soon }));
  expect([next.name, next.monthly_limit, next.state]).toEqual(['CI', '5.000000000000', 'active']);
  for (const secret of [key.secret, next.secret]) expect((await chat(secret)).status).toBe(200);
  expect((await bodyOf<Key>(send('POST', `${path}/keys/${key.id}/revoke`))).state).toBe('revoked');
  await eventually('the old key is refused', async () => (await chat(key.secret)).status === 401);

  expect((await bodyOf<Account>(send('POST', `${path}/suspend`))).is_suspended).toBe(true);
  await eventually('the other one too', async () => (await chat(next.secret)).status === 401);
  expect((await bodyOf<Account>(send('POST', `${path}/resume`))).is_suspended).toBe(false);

  const log = await bodyOf<List<{ action: string; door: string; actor: object }>>(
    send('GET', `/audit-log?account=${account.id}`),
  );
  expect(log.data.map(({ action }) => action).toReversed()).toEqual([
    'create_account',
    'credit_account',
    'create_key',
    'replace_key',
    'revoke_key',
    'suspend_account',
    'resume_account',
  ]);
  for (const { door, actor } of log.data)
    expect([door, actor]).toEqual(['api', { type: 'token', id: program.tokenId, name: 'Tests' }]);
});

describe('members and invitations', () => {
  type Invitation = { id: string; url: string | null };

  test('a link lets someone join; a revoked token ends its links', async () => {
    const other = await fixture.program();
    const { id } = await newAccount();
    const path = `/accounts/${id}/invitations`;
    const mine = await bodyOf<Invitation>(program.send('POST', path, { role: 'owner' }));
    const theirs = await bodyOf<Invitation>(other.send('POST', path, { role: 'owner' }));
    const ids = async () =>
      (await bodyOf<List<Invitation>>(program.send('GET', path))).data.map((invitation) => invitation.id);
    expect(await ids()).toEqual([theirs.id, mine.id]);
    await fixture.database.sql`update admin_tokens set revoked_at = now() where id = ${other.tokenId}`;
    expect(await ids()).toEqual([mine.id]);

    const { origin } = fixture.gateway;
    const token = mine.url?.split('#token=')[1] ?? '';
    const joined = await fetch(`${origin}/api/auth/invitation/sign-up`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin },
      body: JSON.stringify({
        token,
        name: 'Ann',
        email: 'ann@example.com',
        password: 'correct horse battery',
      }),
    });
    expect(joined.status).toBe(200);
    const members = await bodyOf<List<{ id: string; email: string; role: string }>>(
      program.send('GET', `/accounts/${id}/members`),
    );
    expect(members.data.map(({ email, role }) => [email, role])).toEqual([['ann@example.com', 'owner']]);
    const member = `/accounts/${id}/members/${members.data[0]?.id}`;
    const { headers } = await program.send('GET', member);
    const change = (body: object, tag: string) => program.send('PATCH', member, body, { 'if-match': tag });
    expect(await refusalOf(change({ role: 'member' }, headers.get('etag') ?? ''))).toEqual([
      400,
      'last_owner',
      undefined,
    ]);
    expect(await refusalOf(program.send('DELETE', member))).toEqual([400, 'last_owner', undefined]);
  });

  test('an invitation is revoked once, and without mail none is sent', async () => {
    const { id } = await newAccount();
    const path = `/accounts/${id}/invitations`;
    const invitation = await bodyOf<Invitation>(program.send('POST', path, { role: 'member' }));
    const gone = await bodyOf(program.send('DELETE', `${path}/${invitation.id}`));
    expect(gone).toEqual({ object: 'invitation', id: invitation.id, deleted: true });
    for (const method of ['GET', 'DELETE'])
      expect(await refusalOf(program.send(method, `${path}/${invitation.id}`))).toEqual([
        404,
        'invitation_not_found',
        undefined,
      ]);
    const mailed = { role: 'member', email: 'bob@example.com' };
    expect(await refusalOf(program.send('POST', path, mailed))).toEqual([400, 'invalid_parameter', 'email']);
  });

  test('one is mailed with a single connection to the database', async () => {
    const { id } = await newAccount();
    const mail = startMailServer();
    const gateway = await startGateway({
      ...fixture.environment,
      TOLLGATE_DATA: `${fixture.environment.TOLLGATE_DATA}-mail`,
      DATABASE_POOL: '1',
      SMTP_URL: mail.url,
      MAIL_FROM: 'Tollgate <gateway@example.com>',
      PUBLIC_URL: 'https://gateway.example.com',
    });
    try {
      const send = senderFor(gateway.origin, program.secret);
      const sent = send('POST', `/accounts/${id}/invitations`, { role: 'member', email: 'eve@example.com' });
      expect((await bodyOf<Invitation>(sent)).url).toBe(null);
      expect((await mail.next('eve@example.com')).data).toContain('invitation');
    } finally {
      await gateway.stop();
      mail.stop();
    }
  });
});

describe('an Idempotency-Key', () => {
  const keyed = (key: string) => ({ 'idempotency-key': key });

  test('makes a change once, also at the same moment, and a retry gets the same response with its secret', async () => {
    const { id } = await newAccount();
    const send = () => program.send('POST', `/accounts/${id}/keys`, { name: 'Once' }, keyed('key-1'));
    const responses = await Promise.all(Array.from({ length: 6 }, send));
    const texts = new Set(await Promise.all(responses.map((response) => response.text())));
    expect(texts.size).toBe(1);
    expect(JSON.parse([...texts][0] ?? '')).toMatchObject({ secret: expect.stringMatching(/^svc_sk_/) });
    fixture.canaries.add((JSON.parse([...texts][0] ?? '{}') as Key).secret);
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 201));
    const replayed = responses.filter(({ headers }) => headers.get('idempotent-replayed') === 'true');
    expect(replayed).toHaveLength(5);
    expect(new Set(responses.map(({ headers }) => headers.get('x-service-request-id'))).size).toBe(1);
    expect(new Set(responses.map(({ headers }) => headers.get('etag'))).size).toBe(1);
    const keys = await bodyOf<List<Key>>(program.send('GET', `/accounts/${id}/keys`));
    expect(keys.data).toHaveLength(1);
  });

  test('belongs to one request of one token', async () => {
    const { id } = await newAccount();
    const post = (path: string, body: object, by = program) => by.send('POST', path, body, keyed('key-2'));
    await bodyOf(post(`/accounts/${id}/keys`, { name: 'One' }));
    const refused = [400, 'invalid_parameter', 'Idempotency-Key'];
    expect(await refusalOf(post(`/accounts/${id}/keys`, { name: 'Two' }))).toEqual(refused as never);
    expect(await refusalOf(post('/accounts', { name: 'One' }))).toEqual(refused as never);
    const other = await fixture.program();
    expect((await post(`/accounts/${id}/keys`, { name: 'Two' }, other)).status).toBe(201);
  });

  test('of a request that failed can be used again, because nothing was changed', async () => {
    const send = (externalId: string) =>
      program.send('POST', '/accounts', { name: 'Retry', external_id: externalId }, keyed('key-3'));
    const taken = await newAccount({ external_id: 'taken' });
    expect(await refusalOf(send('taken'))).toEqual([409, 'external_id_taken', 'external_id']);
    expect((await send('free')).status).toBe(201);
    expect((await bodyOf<Account>(program.send('GET', '/accounts/external_id:taken'))).id).toBe(taken.id);
  });

  test('gets the first response also when a time in the body has passed', async () => {
    const { id } = await newAccount();
    const time = new Date(Date.now() + 2_000);
    const post = (path: string, body: object, key: string) =>
      program.send('POST', `/accounts/${id}/keys${path}`, body, keyed(key));
    const create = () => post('', { name: 'Short', expires_at: time }, 'key-5');
    const created = await bodyOf<Key>(create());
    const { id: old } = await bodyOf<Key>(post('', { name: 'Old' }, 'key-6'));
    const replace = () => post(`/${old}/replace`, { revoke_at: time }, 'key-7');
    const replaced = await bodyOf<Key>(replace());
    await eventually('the time has passed', () => Date.now() > time.getTime());
    expect(await bodyOf<Key>(create())).toEqual(created);
    expect(await bodyOf<Key>(replace())).toEqual(replaced);
    const late = post('', { name: 'Late', expires_at: time }, 'key-8');
    expect(await refusalOf(late)).toEqual([400, 'invalid_parameter', 'expires_at']);
  });

  test('is forgotten after a day', async () => {
    const send = (name: string) => program.send('POST', '/accounts', { name }, keyed('key-4'));
    const { id } = await bodyOf<Account>(send('Before'));
    await fixture.database.sql`update admin_requests set created_at = now() - interval '25 hours'`;
    expect((await bodyOf<Account>(send('After'))).id).not.toBe(id);
  });
});

describe('an update', () => {
  test('needs the ETag of what was read: of two programs, the second is told', async () => {
    const { id } = await newAccount();
    const path = `/accounts/${id}`;
    const etag = (await program.send('GET', path)).headers.get('etag') ?? '';
    const update = (name: string, tag: string | null) =>
      program.send('PATCH', path, { name }, tag === null ? {} : { 'if-match': tag });
    expect(await refusalOf(update('None', null))).toEqual([428, 'precondition_required', 'If-Match']);
    const outcomes = await Promise.all(['One', 'Two', 'Three'].map((name) => refusalOf(update(name, etag))));
    expect(outcomes.map(([status]) => status).toSorted()).toEqual([200, 412, 412]);
    expect(await refusalOf(update('Late', etag))).toEqual([412, 'precondition_failed', 'If-Match']);
    expect((await update('Any', '*')).status).toBe(200);
    const next = (await program.send('GET', path)).headers.get('etag') ?? '';
    expect((await update('Next', `"other", ${next}`)).status).toBe(200);
  });

  test('is told of what another door changed, and not of what moves by itself', async () => {
    const { account, keyId, key } = await fixture.customer('10');
    const path = `/accounts/${account}/keys/${keyId}`;
    const tagOf = async () => (await program.send('GET', path)).headers.get('etag') ?? '';
    const first = await tagOf();
    expect((await chat(key)).status).toBe(200);
    expect(await tagOf()).toBe(first);
    await fixture.database.sql`update api_keys set requests_per_minute = 7 where id = ${keyId}`;
    const change = { name: 'New', monthly_limit: null };
    expect(await refusalOf(program.send('PATCH', path, change, { 'if-match': first }))).toEqual([
      412,
      'precondition_failed',
      'If-Match',
    ]);
    const changed = await program.send('PATCH', path, change, { 'if-match': await tagOf() });
    expect(await bodyOf<Key>(Promise.resolve(changed))).toMatchObject({
      name: 'New',
      requests_per_minute: 7,
    });
    expect(changed.headers.get('etag')).toBe(await tagOf());
  });

  test('replaces metadata as a whole, and leaves out what it does not name', async () => {
    const { id } = await newAccount({ external_id: 'meta', metadata: { b: '2', a: '1' } });
    const update = (body: object) =>
      bodyOf<Account & { metadata: object }>(
        program.send('PATCH', `/accounts/${id}`, body, { 'if-match': '*' }),
      );
    expect((await update({ name: 'Renamed' })).metadata).toEqual({ a: '1', b: '2' });
    expect((await update({ metadata: { a: '1', b: '2' } })).external_id).toBe('meta');
    expect((await update({ metadata: { c: '3' }, external_id: null })).metadata).toEqual({ c: '3' });
    const rows = await fixture.database.sql`
      select before, after from audit_log where account_id = ${id} and action = 'update_account' order by id`;
    expect([...rows] as unknown[]).toEqual([
      { before: { name: 'Acme' }, after: { name: 'Renamed' } },
      {
        before: { external_id: 'meta', metadata: { a: '1', b: '2' } },
        after: { external_id: null, metadata: { c: '3' } },
      },
    ]);
  });

  test('cannot give two accounts the same external ID', async () => {
    const accounts = await Promise.all([newAccount(), newAccount(), newAccount()]);
    const outcomes = await Promise.all(
      accounts.map(({ id }) =>
        refusalOf(program.send('PATCH', `/accounts/${id}`, { external_id: 'shared' }, { 'if-match': '*' })),
      ),
    );
    expect(outcomes.map(([status]) => status).toSorted()).toEqual([200, 409, 409]);
  });
});

describe('what is refused', () => {
  test.each([
    ['an unknown field', { name: 'A', credit: '5' }, 'unsupported_parameter', 'credit'],
    ['no name', {}, 'missing_required_parameter', 'name'],
    ['an empty external ID', { name: 'A', external_id: '' }, 'invalid_parameter', 'external_id'],
    ['a nested value', { name: 'A', metadata: { a: {} } }, 'invalid_parameter', 'metadata.a'],
    ['a long value', { name: 'A', metadata: { a: 'x'.repeat(501) } }, 'invalid_parameter', 'metadata.a'],
    [
      'too many',
      { name: 'A', metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, ''])) },
      'invalid_parameter',
      'metadata',
    ],
  ])('an account with %s', async (_, body, code, param) => {
    expect(await refusalOf(program.send('POST', '/accounts', body))).toEqual([400, code, param]);
  });

  test('a name of metadata that means something to the language', async () => {
    const body = '{"name":"A","metadata":{"__proto__":"x"}}';
    const [status, code] = await refusalOf(program.send('POST', '/accounts', body));
    expect([status, code]).toEqual([400, 'invalid_parameter']);
  });

  test('a query parameter that is not known, and a cursor of another list', async () => {
    expect(await refusalOf(program.send('GET', '/accounts?page=2'))).toEqual([
      400,
      'unsupported_parameter',
      'page',
    ]);
    await newAccount();
    await newAccount();
    const { next_cursor: cursor } = await bodyOf<List<Account>>(program.send('GET', '/accounts?limit=1'));
    expect((await program.send('GET', `/accounts?cursor=${cursor}`)).status).toBe(200);
    for (const path of [`/audit-log?cursor=${cursor}`, `/accounts?cursor=${cursor?.slice(1)}A`])
      expect(await refusalOf(program.send('GET', path))).toEqual([400, 'invalid_cursor', 'cursor']);
  });
});

test('pages follow one another without gaps or repetition, while accounts are added', async () => {
  for (let count = 0; count < 5; count += 1) await newAccount({ name: `Page ${count}` });
  const rows = await fixture.database.sql<{ id: string }[]>`select id from accounts order by id desc`;
  const seen: string[] = [];
  let query = '?limit=3';
  for (;;) {
    const page = await bodyOf<List<Account>>(program.send('GET', `/accounts${query}`));
    seen.push(...page.data.map(({ id }) => id));
    await newAccount({ name: 'Later' });
    if (page.next_cursor === null) break;
    query = `?limit=3&cursor=${page.next_cursor}`;
  }
  expect(seen).toEqual(rows.map(({ id }) => id));
});

/** Sixty names of 1,000 characters, each within the one before. */
const nestedWithLongNames = `${Array.from({ length: 60 }, () => `{ ${'n'.repeat(1_000)}: `).join('')}1${' }'.repeat(60)}`;

describe('the gateway', () => {
  test('shows its nodes, circuits and catalogue, and the token itself', async () => {
    const nodes = await bodyOf<List<{ state: string; is_this: boolean }>>(program.send('GET', '/nodes'));
    const [own] = nodes.data.filter((node) => node.is_this);
    expect(own?.state).toBe('alive');
    expect((await bodyOf<List<unknown>>(program.send('GET', '/circuits'))).object).toBe('list');
    const catalogue = await bodyOf<{ price_version: string; models: unknown[] }>(
      program.send('GET', '/catalogue'),
    );
    expect([catalogue.price_version, catalogue.models.length > 5]).toEqual(['2026-11', true]);
    for (const path of ['/write-offs', '/discrepancies'])
      expect((await bodyOf<List<unknown>>(program.send('GET', path))).data).toEqual([]);
    const token = await bodyOf<{ id: string; last_used_at: string }>(program.send('GET', '/token'));
    expect(token.id).toBe(program.tokenId);
    expect(Date.parse(token.last_used_at)).toBeGreaterThan(Date.now() - 60_000);
    expect(JSON.stringify(token)).not.toContain(program.secret);
  });

  test('checks a catalogue that was posted, and keeps its own', async () => {
    const check = (catalogue: string) =>
      bodyOf<{ ok: boolean; problems: string[]; models: number | null }>(
        program.send('POST', '/catalogue/check', { catalogue }),
      );
    const text = await Bun.file(fixture.environment.TOLLGATE_CATALOG ?? '').text();
    expect(await check(text)).toMatchObject({ ok: true, problems: [], models: expect.any(Number) });
    const wrong = await check('price_version: "x"\nproviders: {}\nmodels: []\n');
    expect([wrong.ok, wrong.problems.length > 0]).toEqual([false, true]);
    const checks = await Promise.all([1, 2, 3].map(() => check(nestedWithLongNames)));
    expect(checks.map(({ problems }) => problems.length)).toEqual([4, 4, 4]);
  });

  test('checks a few catalogues at the same moment, of all programs together, and turns the others away', async () => {
    const programs = await Promise.all(Array.from({ length: 6 }, () => fixture.program()));
    const sent = programs.flatMap(({ send }) =>
      Array.from({ length: 4 }, () => send('POST', '/catalogue/check', { catalogue: nestedWithLongNames })),
    );
    const responses = await Promise.all(sent);
    const refused = responses.filter(({ status }) => status !== 200);
    expect(refused.length).toBeWithin(1, sent.length - 10);
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
    const messages = await Promise.all(
      refused.map(async (response) => ((await response.json()) as ErrorBody).error),
    );
    expect(new Set(messages.map(({ code, message }) => `${code}: ${message}`))).toEqual(
      new Set(['rate_limit_exceeded: Too many catalogues are being checked. Try again in a moment.']),
    );
  });
});

test('a credit needs a reference or an Idempotency-Key', async () => {
  const { id } = await newAccount();
  const give = (headers: Record<string, string>) =>
    program.send('POST', `/accounts/${id}/credits`, { amount: '5' }, headers);
  expect(await refusalOf(give({}))).toEqual([400, 'invalid_parameter', 'reference']);
  for (let time = 0; time < 2; time += 1)
    expect(await bodyOf(give({ 'idempotency-key': 'credit-once' }))).toMatchObject({
      balance: '5.000000000000',
    });
});

test('no more keys or invitations are made at the same moment than there is room for', async () => {
  const { sql } = fixture.database;
  const { id } = await newAccount();
  await sql`
    insert into invitations (id, account_id, role, invited_by_token, token_hash, expires_at)
    select gen_random_uuid(), ${id}, 'member', ${program.tokenId}, sha256(convert_to(number::text, 'UTF8')), now() + interval '1 day'
    from generate_series(1, 49) as number`;
  await sql`
    with made as (
      insert into api_keys (id, account_id, name, hash, hint, requests_per_minute)
      select gen_random_uuid(), ${id}, 'One of many', sha256(convert_to(number::text, 'UTF8')), 'svc_sk_…0000', 600
      from generate_series(1, 999) as number returning id
    )
    insert into api_key_meters (key_id) select id from made`;
  const others = await Promise.all([1, 2, 3].map(() => fixture.program()));
  const outcomes = async (path: string, body: object) => {
    const refusals = others.map((other) => refusalOf(other.send('POST', `/accounts/${id}${path}`, body)));
    return (await Promise.all(refusals)).map(([, code]) => code).toSorted();
  };
  const full = 'too_many_invitations';
  expect(await outcomes('/invitations', { role: 'member' })).toEqual(['done', full, full]);
  expect(await outcomes('/keys', { name: 'Last' })).toEqual(['done', 'too_many_keys', 'too_many_keys']);
});

test('corrections and refunds are booked once, and refused with what is possible', async () => {
  const { send } = program;
  const { account, key } = await fixture.customer('10');
  const generation = (await chat(key)).headers.get('x-service-request-id') ?? '';
  const corrections = `/accounts/${account}/corrections`;
  const taking = { amount: '-4', reason: 'Paid out', reference: 'PAYOUT-1' };
  const taken = await bodyOf<{ entry_number: number; already_booked: boolean }>(
    send('POST', corrections, taking),
  );
  expect(taken).toMatchObject({ object: 'correction', amount: '-4.000000000000', already_booked: false });
  expect(await bodyOf(send('POST', corrections, taking))).toMatchObject({
    entry_number: taken.entry_number,
    already_booked: true,
  });
  expect(await refusalOf(send('POST', corrections, { ...taking, amount: '-5' }))).toEqual([
    409,
    'reference_in_use',
    'reference',
  ]);
  expect(await refusalOf(send('POST', corrections, { ...taking, amount: '-40', reference: 'P2' }))).toEqual([
    409,
    'amount_too_large',
    'amount',
  ]);
  const undoing = { entry_number: taken.entry_number, reason: 'Not paid out', reference: 'P3' };
  expect(await bodyOf(send('POST', corrections, undoing))).toMatchObject({ amount: '4.000000000000' });

  const refunds = `/generations/${generation}/refunds`;
  const words = { reason: 'Cut short', reference: 'T1' };
  expect(await bodyOf(send('POST', refunds, words))).toMatchObject({
    object: 'refund',
    account_id: account,
    balance: '10.000000000000',
  });
  expect(await refusalOf(send('POST', refunds, { ...words, reference: 'T2' }))).toEqual([
    409,
    'nothing_left',
    undefined,
  ]);
  expect(await refusalOf(send('POST', `/generations/req_${'0'.repeat(32)}/refunds`, words))).toEqual([
    404,
    'generation_not_found',
    undefined,
  ]);
  const log = await bodyOf<List<{ action: string; door: string; actor: object; address: string | null }>>(
    send('GET', `/audit-log?account=${account}`),
  );
  const byProgram = log.data.filter(({ door }) => door === 'api');
  expect(byProgram.map(({ action }) => action)).toEqual([
    'refund_generation',
    'correct_account',
    'correct_account',
  ]);
  expect(byProgram[0]).toMatchObject({
    actor: { type: 'token', id: program.tokenId },
    address: expect.any(String),
  });
});

test('an account cannot be put into a price group that the catalogue does not have', async () => {
  const { account } = await fixture.customer('1');
  const change = { price_group: 'nobody' };
  expect(await refusalOf(program.send('PATCH', `/accounts/${account}`, change, { 'if-match': '*' }))).toEqual(
    [400, 'invalid_parameter', 'price_group'],
  );
  expect(await refusalOf(program.send('POST', '/accounts', { name: 'New', ...change }))).toEqual([
    400,
    'invalid_parameter',
    'price_group',
  ]);
});
