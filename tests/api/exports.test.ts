/** Exports: complete and exact in both formats, for whom they may be, resumed from any line, and never seemingly complete. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import type { SQL } from 'bun';
import fc from 'fast-check';
import { createAccounts, type Owner } from '../../bench/accounts.ts';
import { fillGenerations } from '../../bench/fill.ts';
import { ApiError } from '../../src/errors.ts';
import { monthsOf } from '../../src/exports/entries.ts';
import { Exports, exportParameters, exportSources } from '../../src/exports/exports.ts';
import { preparePage } from '../../src/exports/pieces.ts';
import { endOf, settling } from '../../src/exports/range.ts';
import type { RequestContext } from '../../src/http/context.ts';
import { readQuery } from '../../src/http/query.ts';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { createTokenAs } from '../../src/tokens/token-store.ts';
import '../support/exports-up-to-now.ts';
import { senderFor } from '../support/admin-fixture.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { type ConsoleFixture, openConsoleFixture, signIn, visitor } from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, launchGateway, programWith, temporaryFolder, tollgate } from '../support/gateway.ts';
import { quickGateway } from '../support/quick-lease.ts';

const names = ['generations', 'usage', 'entries', 'audit_log'] as const;
type Name = (typeof names)[number];
type Line = Readonly<Record<string, unknown>>;

const upToNow = 'exports-up-to-now.ts';

/** More than the buffers between two processes hold. */
const manyRows = 24_000;
/** More than two pages. */
const someRows = 600;

let fixture: ConsoleFixture;
let token: string;
let many: Owner;
let some: Owner;
let from: string;

beforeAll(async () => {
  fixture = await openConsoleFixture(
    undefined,
    (environment) => launchGateway(environment, { command: [...programWith(upToNow), 'serve'] }).listening,
  );
  const { sql } = fixture.database;
  from = new Date(Date.now() - 60_000).toISOString();
  const draft = { name: 'Warehouse', scopes: ['read'] as const, networks: null, requestsPerMinute: 10_000 };
  const made = await sql.begin((transaction) =>
    createTokenAs(
      transaction,
      { door: 'cli', shellUser: 'tests@here' },
      { ...draft, expiresAt: new Date(Date.now() + 3_600_000) },
    ),
  );
  token = made.secret;
  fixture.canaries.add(token);
  [many, some] = (await createAccounts(sql, 2)) as [Owner, Owner];
  await fillGenerations(sql, [many], manyRows);
  await fillGenerations(sql, [some], someRows);
}, 60_000);

afterAll(() => fixture.close());

const download = (name: Name, query: Record<string, string>, origin = fixture.gateway.origin) =>
  senderFor(origin, token)('GET', `/exports/${name}?${new URLSearchParams({ from, ...query })}`);

async function textOf(response: Promise<Response>): Promise<string> {
  const answered = await response;
  const text = await answered.text();
  if (!answered.ok) throw new Error(`It answered ${answered.status}: ${text}`);
  return text;
}

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

const exported = async (name: Name, query: Record<string, string> = {}) =>
  linesOf(await textOf(download(name, { format: 'ndjson', ...query })));

const cursorOf = (line: Line) => String(Object.values(line)[0]);

async function refusalOf(response: Promise<Response>) {
  const answered = await response;
  const { error } = (await answered.json()) as ErrorBody;
  return { status: answered.status, code: error.code, param: error.param, message: error.message };
}

/** The cells of a file without line breaks inside of cells. */
function cellsOf(text: string): string[][] {
  return text
    .split('\r\n')
    .slice(0, -1)
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
      ),
    );
}

describe('what a customer did', () => {
  const endUser = '=HYPERLINK("http://a.example";"x")';
  const reference = crypto.randomUUID();
  let requestId: string;

  beforeAll(async () => {
    const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${fixture.key}`,
        'content-type': 'application/json',
        'x-end-user': endUser,
        'x-tags': 'team=blue',
      },
      body: JSON.stringify({
        model: 'full',
        messages: [{ role: 'user', content: '[[usage 10 5]] hi' }],
      }),
    });
    expect(response.status).toBe(200);
    await response.text();
    requestId = response.headers.get('x-service-request-id') ?? '';
    const path = `/api/console/operator/generations/${requestId}/refunds`;
    const refunded = await fixture.people.operator.send('POST', path, {
      amount: '0.000005',
      reason: 'Cut short',
      reference,
    });
    expect(refunded.status).toBe(200);
  });

  test('is there with whom it was for, exact amounts, and every movement on its own line', async () => {
    const { account } = fixture;
    const [generation] = await exported('generations', { account });
    expect(generation).toMatchObject({
      request_id: requestId,
      account_id: account,
      key_id: fixture.keyId,
      model: 'full',
      status: 'completed',
      input_tokens: 10,
      output_tokens: 5,
      cost_usd: '0.000020000000',
      end_user: endUser,
      session: null,
      tags: { team: 'blue' },
    });
    expect(await exported('usage', { account })).toMatchObject([
      { request_id: requestId, number: 2, cost_usd: '0.000020000000', refunded_usd: '0.000005000000' },
    ]);
    const entries = await exported('entries', { account });
    expect(entries).toMatchObject([
      { id: `${account}:1`, kind: 'credit', amount_usd: '100.000000000000', request_id: null },
      { id: `${account}:2`, kind: 'charge', amount_usd: '-0.000020000000', request_id: requestId },
      {
        id: `${account}:3`,
        kind: 'refund',
        amount_usd: '0.000005000000',
        balance_after_usd: '99.999985000000',
        memo: 'Cut short',
        reference,
        actor: expect.stringMatching(/^operator:/),
      },
    ]);
    const changes = await exported('audit_log', { account });
    expect(changes.map(({ action }) => action)).toContain('refund_generation');
  });

  test('has the same values in both formats, and no cell is a formula', async () => {
    for (const name of names) {
      const { account } = fixture;
      const to = new Date().toISOString();
      const [header = [], ...rows] = cellsOf(await textOf(download(name, { account, to })));
      const lines = await exported(name, { account, to });
      expect(rows).toHaveLength(lines.length);
      for (const [at, line] of lines.entries()) {
        expect(Object.keys(line)).toEqual(header);
        const cells = Object.values(line).map((value) =>
          typeof value === 'object' && value !== null ? JSON.stringify(value) : `${value ?? ''}`,
        );
        expect(rows[at]?.map((cell) => cell.replaceAll("'", ''))).toEqual(
          cells.map((cell) => cell.replaceAll("'", '')),
        );
      }
    }
    const [, first = []] = cellsOf(await textOf(download('generations', { account: fixture.account })));
    expect(first).toContain(`'${endUser}`);
  });

  test('is shown to owners without what only the operator sees', async () => {
    const own = async (name: Name) => {
      const path = `/api/console/accounts/${fixture.account}/exports/${name}?format=ndjson&from=${from}`;
      return linesOf(await textOf(fixture.people.owner.send('GET', path)));
    };
    expect((await own('generations'))[0]).toMatchObject({ request_id: requestId });
    const [usage = {}] = await own('usage');
    expect(Object.keys(usage)).not.toContain('provider_cost_usd');
    const entries = await own('entries');
    expect(entries).toHaveLength(3);
    expect(JSON.stringify(entries)).not.toContain('operator:');
    const changes = await own('audit_log');
    const refund = changes.find(({ action }) => action === 'refund_generation');
    expect(refund).toMatchObject({ actor_name: null, address: null, after: { amount: '0.000005000000' } });
    expect(JSON.stringify(changes)).not.toContain('operator@example.com');
  });

  test('is exported by operators for one account or for all of them', async () => {
    const ask = (query: string) =>
      fixture.people.operator.send('GET', `/api/console/operator/exports/entries?from=${from}${query}`);
    expect(cellsOf(await textOf(ask(`&account=${fixture.account}`)))).toHaveLength(4);
    expect((await refusalOf(ask('&account=nobody'))).code).toBe('account_not_found');
    const all = await textOf(ask(`&after=${fixture.account}:2&format=ndjson`));
    expect(linesOf(all)[0]).toMatchObject({ account_id: fixture.account, number: 3 });
  });
});

describe('an export', () => {
  test.each(names)('of %s has everything once, in order, and goes on after any line', async (name) => {
    const to = new Date().toISOString();
    const query: Record<string, string> = name === 'audit_log' ? { to } : { to, account: some.accountId };
    const lines = await exported(name, query);
    const cursors = lines.map(cursorOf);
    expect(new Set(cursors).size).toBe(cursors.length);
    if (name !== 'audit_log') expect(lines).toHaveLength(someRows + (name === 'entries' ? 1 : 0));
    for (const at of new Set([0, 1, 249, 250, lines.length - 1])) {
      const after = cursors[at];
      if (after === undefined) continue;
      const rest = await exported(name, { ...query, after });
      expect(rest.map(cursorOf)).toEqual(cursors.slice(at + 1));
    }
    if (name !== 'audit_log') return;
    // Letters of either case are the same ID, also where the range is compared.
    const beyond = 'ABCDEFAB-0000-7000-8000-000000000000';
    expect((await refusalOf(download(name, { ...query, after: beyond }))).code).toBe('invalid_cursor');
    const capital = (cursors[0] ?? '').toUpperCase();
    expect((await exported(name, { ...query, after: capital })).map(cursorOf)).toEqual(cursors.slice(1));
  });

  /** Rows that a page reads of the tables that grow, whichever way they are found. */
  async function costOf(name: Name, accountId: string | null, after: string | null): Promise<number> {
    const order = {
      isOperator: true,
      accountId,
      from: new Date(from),
      to: new Date(),
    };
    return await fixture.database.sql.begin(async (transaction) => {
      const count = async () => {
        const [row] = await transaction<[{ count: number }]>`
          select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as count from pg_stat_xact_user_tables
          where relname ~ '^(generations|generation_attributions|ledger_entries|usage_records|audit_log)'`;
        return row.count;
      };
      await preparePage(transaction);
      const before = await count();
      await exportSources[name].find(transaction, order, after, 100);
      return (await count()) - before;
    });
  }

  test('costs the same for each page, whoever else has many rows', async () => {
    const last = await exported('generations', { account: some.accountId });
    for (const name of names) {
      const deep = name === 'audit_log' ? null : name === 'generations' ? cursorOf(last[500] ?? {}) : null;
      for (const accountId of [null, some.accountId, many.accountId])
        for (const after of [null, deep, ...(name === 'usage' ? [`${accountId ?? many.accountId}:550`] : [])])
          expect(await costOf(name, accountId, after), `${name} ${accountId} ${after}`).toBeWithin(0, 801);
    }
  });

  test('of all accounts is the exports of each of them', async () => {
    const to = new Date().toISOString();
    const all = await exported('usage', { to });
    expect(all.filter((line) => line.account_id === some.accountId)).toEqual(
      await exported('usage', { to, account: some.accountId }),
    );
    expect(all.filter((line) => line.account_id === many.accountId)).toHaveLength(manyRows);
    const places = all.map(({ account_id: account, number }) => `${account} ${String(number).padStart(9)}`);
    expect(places).toEqual(places.toSorted());
  });

  test('ends where its range ends, whatever is added meanwhile', async () => {
    const account = some.accountId;
    const [first = {}, ...rest] = await exported('generations', { account });
    const time = (line: Line) => String(line.created_at);
    expect(await exported('entries', { account, to: time(first), from: '2026-01-01' })).toHaveLength(1);
    const response = await download('generations', { account, format: 'ndjson' });
    expect(response.headers.get('x-export-to')).toMatch(/Z$/);
    await response.text();
    expect(rest.every((line) => time(line) >= time(first))).toBe(true);
  });

  test('has what is in progress, as it is', async () => {
    const { sql } = fixture.database;
    const [open] = await sql<[{ id: string }]>`
      insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
        price_list_id, attempts, created_at)
      select ${newId()}::uuid, ${some.accountId}, ${some.keyId}, nodes.id, 'chat', 'open', 'main', true, 0, 1, '[]', now()
      from nodes where stopped_at is null limit 1
      returning id`;
    try {
      const lines = await exported('generations', { account: some.accountId });
      expect(lines).toHaveLength(someRows + 1);
      expect(lines.at(-1)).toMatchObject({
        model: 'open',
        status: 'in_progress',
        cost_usd: null,
        completed_at: null,
      });
    } finally {
      await sql`delete from open_generations where id = ${open.id}`;
    }
  });

  test('refuses what it does not understand', async () => {
    const account = some.accountId;
    const other = `${many.accountId}:1`;
    const cases: [Name, Record<string, string>, string, string][] = [
      ['generations', { from: 'yesterday' }, 'invalid_parameter', 'from'],
      ['generations', { from: '2999-01-01' }, 'invalid_parameter', 'from'],
      ['generations', { to: '1999-01-01' }, 'invalid_parameter', 'to'],
      ['usage', { format: 'xml' }, 'invalid_parameter', 'format'],
      ['generations', { after: 'req_0' }, 'invalid_cursor', 'after'],
      ['generations', { after: `req_${'0'.repeat(32)}` }, 'invalid_cursor', 'after'],
      ['entries', { account, after: other }, 'invalid_cursor', 'after'],
      ['usage', { after: '1' }, 'invalid_cursor', 'after'],
      ['audit_log', { after: "'" }, 'invalid_cursor', 'after'],
    ];
    for (const [name, query, code, param] of cases) {
      const refusal = await refusalOf(download(name, query));
      expect([name, query, refusal.code, refusal.param]).toEqual([name, query, code, param]);
    }
    const without = await refusalOf(senderFor(fixture.gateway.origin, token)('GET', '/exports/usage'));
    expect(without.param).toBe('from');
    expect((await refusalOf(download('usage', { account: 'external_id:nobody' }))).code).toBe(
      'account_not_found',
    );
  });

  test('does not leave out in silence what was archived or dropped', async () => {
    const { sql } = fixture.database;
    const early = '2026-02-10T00:00:00Z';
    const late = '2026-03-01T00:00:00Z';
    await sql`
      insert into ledger_archives (id, begins_on, ends_on, file_name, digest, size_bytes, entry_count, record_count)
      values (uuidv7(), '2026-02-01', '2026-03-01', 'test', sha256('x'), 1, 0, 0)`;
    const [{ applied_at: installed }] = await sql<[{ applied_at: Date }]>`
      select applied_at from schema_migrations where version = 1`;
    await sql`update schema_migrations set applied_at = '2020-01-01' where version = 1`;
    try {
      for (const name of ['usage', 'entries'] as const) {
        const refusal = await refusalOf(download(name, { from: early }));
        expect(refusal).toMatchObject({ status: 400, param: 'from' });
        expect(refusal.message).toContain('2026-03-01');
        expect((await exported(name, { from: late, account: some.accountId })).length).toBeGreaterThan(0);
      }
      expect((await refusalOf(download('generations', { from: '2020-06-01' }))).param).toBe('from');
      // Whom they were for is dropped first.
      const [month = ''] = await monthsOfAttributions(sql);
      await sql`update schema_migrations set applied_at = ${installed} where version = 1`;
      await sql`update schema_migrations set applied_at = '2020-01-01' where version = 25`;
      expect((await refusalOf(download('generations', { from: '2020-06-01' }))).message).toContain(month);
      expect(await exported('generations', { account: some.accountId })).toHaveLength(someRows);
    } finally {
      await sql`delete from ledger_archives`;
      await sql`update schema_migrations set applied_at = ${installed} where version in (1, 25)`;
    }
  });
});

/** The days on which they begin, the oldest first. */
async function monthsOfAttributions(sql: SQL): Promise<string[]> {
  const rows = await sql<{ day: string }[]>`
    select to_date(right(relname, 7), 'YYYY_MM')::text as day from pg_inherits join pg_class on oid = inhrelid
    where inhparent = 'generation_attributions'::regclass and relname ~ '_[0-9]{4}_[0-9]{2}$' order by day`;
  return rows.map(({ day }) => day);
}

type SlowClient = Readonly<{
  /** Everything it received, once the connection has ended. */
  readToEnd: () => Promise<string>;
  leave: () => void;
}>;

/** Has asked for an export of everything, received its beginning, and reads on only when told to. */
async function slowClient(
  { origin }: Pick<Gateway, 'origin'>,
  path = '/admin/v1/exports/generations',
  header = `Authorization: Bearer ${token}`,
): Promise<SlowClient> {
  const { hostname, port } = new URL(origin);
  const begun = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  let received = '';
  const socket = connect(Number(port), hostname);
  socket.on('data', (data) => {
    if (received === '') socket.pause();
    received += data.toString('latin1');
    begun.resolve();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => closed.resolve());
  socket.write(`GET ${path}?format=ndjson&from=${from} HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`);
  await begun.promise;
  const readToEnd = async () => {
    socket.resume();
    await closed.promise;
    return received;
  };
  return { readToEnd, leave: () => socket.destroy() };
}

/** The whole lines of a body in chunks, and whether it ended as it should. */
function bodyIn(received: string): { lines: Line[]; isComplete: boolean } {
  let rest = received.slice(received.indexOf('\r\n\r\n') + 4);
  let text = '';
  for (;;) {
    const size = /^([0-9a-f]+)\r\n/i.exec(rest);
    if (size === null) return { lines: linesOf(wholeLines(text)), isComplete: false };
    const length = Number.parseInt(size[1] ?? '', 16);
    if (length === 0) return { lines: linesOf(wholeLines(text)), isComplete: true };
    text += rest.slice(size[0].length, size[0].length + length);
    rest = rest.slice(size[0].length + length + 2);
  }
}

const wholeLines = (text: string) => text.slice(0, text.lastIndexOf('\n') + 1);

describe('an export that is read slowly', () => {
  let impatient: Gateway;

  beforeAll(async () => {
    const environment = { ...fixture.environment, TOLLGATE_DATA: temporaryFolder() };
    impatient = await launchGateway(environment, {
      command: quickGateway('impatient-with-clients.ts', upToNow),
    }).listening;
  });

  afterAll(() => impatient.stop('SIGKILL'));

  test('keeps its slot, and there are few for each token', async () => {
    const clients = [await slowClient(fixture.gateway), await slowClient(fixture.gateway)];
    const refusal = await refusalOf(download('audit_log', {}));
    expect([refusal.status, refusal.code]).toEqual([429, 'rate_limit_exceeded']);
    for (const client of clients) client.leave();
    const { origin } = fixture.gateway;
    const header = `Sec-Fetch-Site: same-origin\r\nCookie: ${fixture.people.operator.cookie}`;
    const path = '/api/console/operator/exports/generations';
    const ofUser = [
      await slowClient(fixture.gateway, path, header),
      await slowClient(fixture.gateway, path, header),
    ];
    const another = () =>
      visitor(origin, fixture.people.operator.cookie).send(
        'GET',
        `/api/console/accounts/${fixture.account}/exports/audit_log?from=${from}`,
      );
    await fixture.database.sql`
      insert into memberships (user_id, account_id, role)
      select id, ${fixture.account}, 'owner' from users where email = 'operator@example.com'`;
    try {
      expect((await another()).status).toBe(429);
      for (const client of ofUser) client.leave();
      await eventually('a slot of the user is free', async () => (await another()).ok);
    } finally {
      await fixture.database.sql`
        delete from memberships where account_id = ${fixture.account}
          and user_id = (select id from users where email = 'operator@example.com')`;
    }
    await eventually('a slot is free', async () => (await download('audit_log', {})).ok);
  });

  test('has no slot without a body', async () => {
    const ask = () => senderFor(fixture.gateway.origin, token)('HEAD', `/exports/generations?from=${from}`);
    for (const response of await Promise.all(Array.from({ length: 5 }, ask))) {
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        'text/csv; charset=utf-8',
      ]);
      expect(response.headers.get('x-export-to')).toMatch(/Z$/);
    }
  });

  test('holds nothing open in the database, and is cut when nothing is read at all', async () => {
    const client = await slowClient(impatient);
    const [idle] = await fixture.database.sql`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%' and now() - state_change > interval '1 second'`;
    expect(idle.count).toBe(0);
    await eventually('the export is cut', () =>
      impatient.output().includes('"route":"/admin/v1/exports/generations"'),
    );
    const { lines, isComplete } = bodyIn(await client.readToEnd());
    expect(isComplete).toBe(false);
    expect(lines.length).toBeLessThan(manyRows);
  });

  test('breaks off when the gateway is stopped, and goes on at another one', async () => {
    const client = await slowClient(impatient);
    const stopping = impatient.stop('SIGTERM');
    await eventually('it drains', () => impatient.output().includes('"event":"draining"'));
    const { lines, isComplete } = bodyIn(await client.readToEnd());
    expect(isComplete).toBe(false);
    await stopping;
    const cursors = lines.map(cursorOf);
    const rest = await exported('generations', { after: cursors.at(-1) ?? '' });
    const all = (await exported('generations')).map(cursorOf);
    expect(new Set(all).size).toBe(all.length);
    expect([...cursors, ...rest.map(cursorOf)]).toEqual(all);
  });

  test('ends with the token', async () => {
    const client = await slowClient(fixture.gateway);
    const { sql } = fixture.database;
    await sql`update admin_tokens set revoked_at = now() where name = 'Warehouse'`;
    try {
      expect(bodyIn(await client.readToEnd()).isComplete).toBe(false);
    } finally {
      await sql`update admin_tokens set revoked_at = null where name = 'Warehouse'`;
    }
  });

  test('ends after a fixed time, and with its client while it waits for the database', async () => {
    const { sql } = fixture.database;
    const log = createLog('error', () => undefined);
    const ask = (services: Partial<ConstructorParameters<typeof Exports>[0]>, signal?: AbortSignal) => {
      const request = new Request(`http://x/?from=${from}`, { signal: signal ?? null });
      return new Exports({ sql, reads: () => sql, log, isDraining: () => false, ...services }).respond({
        name: 'generations',
        origins: ['test'],
        access: { allowed: (asked) => asked`(select 1)`, isOperator: true, accountId: null },
        query: readQuery(request.url, exportParameters),
        request,
        context: { waitPatiently: () => undefined } as RequestContext,
      });
    };
    const cut = await ask({ maxMs: 0.001 }).catch((error: Error) => error);
    expect(cut).toBeInstanceOf(ApiError);
    const client = new AbortController();
    let attempts = 0;
    const reads = () => {
      attempts += 1;
      client.abort();
      throw new Error('The database is away.');
    };
    expect(await ask({ reads }, client.signal).catch((error: Error) => error)).toBeInstanceOf(ApiError);
    expect(attempts).toBe(1);
  });

  test('ends with the session', async () => {
    const { gateway, database } = fixture;
    const { cookie, send } = visitor(gateway.origin, await signIn(gateway.origin, 'operator'));
    const me = (await (await send('GET', '/api/auth/get-session')).json()) as { session: { id: string } };
    const path = '/api/console/operator/exports/generations';
    const client = await slowClient(gateway, path, `Sec-Fetch-Site: same-origin\r\nCookie: ${cookie}`);
    await database.sql`delete from sessions where id = ${me.session.id}`;
    const { lines, isComplete } = bodyIn(await client.readToEnd());
    expect(lines.length).toBeGreaterThan(0);
    expect(isComplete).toBe(false);
  });
});

describe('tollgate export', () => {
  const folder = temporaryFolder();
  const run = <Output>(...words: string[]) =>
    runCommand<Output>(['export', ...words, '--from', from], fixture.environment);
  const read = (file: string) => Bun.file(file).text();
  /** What is beside half a file. */
  const contentOf = (fields: Line) =>
    JSON.stringify({ name: 'entries', account: some.accountId, from, format: 'csv', ...fields });

  test('writes what the admin API sends, and a file appears when it is complete', async () => {
    const to = new Date().toISOString();
    for (const [name, format] of [
      ['generations', 'csv'],
      ['usage', 'ndjson'],
      ['entries', 'csv'],
      ['audit_log', 'ndjson'],
    ] as const) {
      const account = some.accountId;
      const file = `${folder}/${name}.${format}`;
      const words = ['--account', account, '--to', to, '--format', format, '--output', file];
      await run(name.replace('_', '-'), ...words);
      expect(await read(file)).toBe(await textOf(download(name, { account, to, format })));
      expect(await Bun.file(`${file}.part`).exists()).toBe(false);
    }
  });

  test.each(['csv', 'ndjson'] as const)(
    'goes on with half a file of %s, wherever it was cut',
    async (format) => {
      const to = new Date().toISOString();
      const words = ['--account', some.accountId, '--to', to, '--format', format];
      const whole = `${folder}/whole.${format}`;
      await run('entries', ...words, '--output', whole);
      const text = await read(whole);
      for (const cut of [0, 3, text.indexOf('\n') + 1, 5_000, text.length - 1, text.length]) {
        const file = `${folder}/cut-${cut}.${format}`;
        await Bun.write(`${file}.part`, text.slice(0, cut));
        const again = run('entries', ...words, '--output', file);
        expect(await again.catch((error: Error) => error.message)).toContain('--resume');
        await Bun.write(`${file}.part.json`, contentOf({ to, format }));
        const account = ['--account', some.accountId, '--format', format];
        await run('entries', ...account, '--output', file, '--resume');
        expect(await read(file)).toBe(text);
        expect(await Bun.file(`${file}.part.json`).exists()).toBe(false);
      }
    },
  );

  test('ends a minute ago by the clock of the database, whatever was asked for', async () => {
    const { sql } = fixture.database;
    settling.seconds = 60;
    try {
      for (const to of [[], ['--to', new Date().toISOString()], ['--to', '2999-01-01']]) {
        const file = `${folder}/settled-${to.at(-1)}.csv`;
        const words = ['export', 'audit-log', '--from', '2026-01-01', ...to, '--output', file];
        const { to: end } = await runCommand<{ to: string }>(words, fixture.environment);
        const [{ age }] = await sql<[{ age: number }]>`
          select extract(epoch from clock_timestamp() - ${end}::text::timestamptz)::float8 as age`;
        expect(age).toBeWithin(60, 90);
      }
    } finally {
      settling.seconds = 0;
    }
    const hourAgo = new Date(Date.now() - 3_600_000);
    expect(endOf(hourAgo, new Date())).toEqual(hourAgo);
  });

  test('goes to standard output, and nothing else does', async () => {
    const to = new Date().toISOString();
    const words = ['export', 'entries', '--account', some.accountId, '--from', from, '--to', to];
    const printed = await tollgate(words, fixture.environment, programWith(upToNow));
    const stdout = await textOf(download('entries', { account: some.accountId, to }));
    expect(printed).toEqual({ exitCode: 0, stdout, stderr: '' });
    const refused = await tollgate(['export', 'usage', '--from', '2999-01-01'], fixture.environment);
    expect([refused.exitCode, refused.stdout]).toEqual([2, '']);
  });

  test('does not mix two exports in one file', async () => {
    const file = `${folder}/mixed.csv`;
    const refusalFor = (...words: string[]) =>
      run(...words, '--output', file).catch((error: Error) => error.message);
    const to = new Date().toISOString();
    const [header = '', line = ''] = (await textOf(download('entries', { to }))).split('\n');
    const words = ['entries', '--account', some.accountId, '--resume'];
    await Bun.write(`${file}.part`, `${header}\n${line}\n`);
    expect(await refusalFor(...words)).toContain('no ');
    for (const [field, value] of [
      ['name', 'usage'],
      ['account', null],
      ['from', '2026-01-01T00:00:00.000Z'],
      ['format', 'ndjson'],
    ] as const) {
      await Bun.write(`${file}.part.json`, contentOf({ to, [field]: value }));
      expect(await refusalFor(...words)).toContain(`its ${field} is ${value}`);
    }
    await Bun.write(`${file}.part.json`, contentOf({ to }));
    expect(await refusalFor(...words, '--to', '2026-01-01')).toContain('--from must be before');
    expect(await refusalFor(...words, '--to', new Date().toISOString())).toContain(`its to is ${to}`);
    await Bun.write(`${file}.part`, `id,other\n`);
    expect(await refusalFor(...words)).toContain('its columns differ');
    await Bun.write(`${file}.part`, `${header}\n${many.accountId}:1,\n`);
    expect(await refusalFor(...words)).toContain('is not a part of this export');
    await Bun.write(file, 'taken');
    expect(await refusalFor('generations')).toContain('already exists');
    expect(await read(file)).toBe('taken');
  });
});

test('the months of a range hold all of its times, and begin and end with a month', () => {
  const time = fc.date({ min: new Date('2000-01-01'), max: new Date('2199-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(time, time, (one, other) => {
      const [first, last] = [one, other].toSorted((a, b) => a.getTime() - b.getTime()) as [Date, Date];
      const to = new Date(last.getTime() + 1);
      const { begin, end } = monthsOf({ from: first, to });
      expect(begin <= first.toISOString() && last.toISOString() < end).toBe(true);
      for (const edge of [begin, end]) expect(edge).toMatch(/-01T00:00:00\.000Z$/);
      expect(end.slice(0, 7) > last.toISOString().slice(0, 7)).toBe(true);
    }),
  );
});
