/** The console's overview: how an account stands, and what needs attention. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  attentionTo,
  type Facts,
  type ReportedCircuit,
  type WatchedKey,
} from '../../src/console/attention.ts';
import type { Attention, Overview } from '../../src/console/contract.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { newId } from '../../src/lib/ids.ts';
import { formatMoney, type Money, parseMoney } from '../../src/lib/money.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { type ConsoleFixture, openConsoleFixture, outcomeFor } from '../support/console-fixture.ts';

let fixture: ConsoleFixture;
let path: string;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  path = `/api/console/accounts/${fixture.account}/overview`;
}, 60_000);

afterAll(() => fixture.close());

const dollars = (text: string): Money => parseMoney(text) ?? 0n;
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);

async function overview(): Promise<Overview> {
  const response = await fixture.people.member.send('GET', path);
  expect(response.status).toBe(200);
  return (await response.json()) as Overview;
}

/** While a node that nobody asks reports that a provider of the account has failed since then. */
async function withCircuitInDoubt<Result>(since: string, run: () => Promise<Result>): Promise<Result> {
  const { sql } = fixture.database;
  const circuit = {
    provider: 'main',
    model: 'full',
    state: 'half_open',
    consecutive_failures: 5,
    until: null,
  };
  const report = {
    circuits: [{ ...circuit, failing_since: since }],
    price_version: '1',
    catalog_error: null,
  };
  await sql`
    insert into nodes (id, name, heartbeat_at, report) values (${newId()}, 'quiet', now() + interval '1 hour', ${report})`;
  const result = await run();
  await sql`delete from nodes where name = 'quiet'`;
  return result;
}

async function errorOf(response: Response): Promise<[number, string, string | undefined]> {
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code, error.param];
}

async function chat(content: string, model = 'full'): Promise<void> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: content.includes('[['), messages: [{ role: 'user', content }] }),
  });
  await response.text();
}

describe('who may', () => {
  test.each([
    ['a number', '1'],
    ['SQL', encodeURIComponent("' or 1=1 --")],
    ['a name of the language', '__proto__'],
    ['NUL', '%00'],
    ['a long text', 'x'.repeat(5_000)],
    ['an unknown ID', newId()],
  ])('%s is no account', async (_, word) => {
    const elsewhere = `/api/console/accounts/${word}/overview`;
    expect(await outcomeFor(fixture.people.owner, 'GET', elsewhere)).toBe('account_not_found');
  });

  test('any parameter is refused by name', async () => {
    const response = await fixture.people.owner.send('GET', `${path}?constructor=1`);
    expect(await errorOf(response)).toEqual([400, 'unsupported_parameter', 'constructor']);
  });
});

describe('an account', () => {
  test('that has done nothing yet', async () => {
    const answer = await overview();
    expect(answer).toEqual({
      balance: '100.000000000000',
      held: '0.000000000000',
      is_suspended: false,
      runway: { hours_left: null, hours_used: 0, runs_out_at: null },
      typical_hold: null,
      attention: [],
      welcome: null,
    });
  });

  test('that is suspended, with keys that need attention and a provider that is skipped', async () => {
    const { sql } = fixture.database;
    await chat('hi', 'full');
    const key = async (name: string, limit: string | null, expiresAt: Date | null = null) => {
      const made = await createKey(sql, {
        accountId: fixture.account,
        name,
        requestsPerMinute: 1,
        monthlyLimit: limit === null ? null : dollars(limit),
        allowedModels: null,
        expiresAt,
      });
      return made?.id ?? '';
    };
    const near = await key('Near', '1');
    const at = await key('At', '1');
    const lastMonth = await key('Last month', '1');
    const revoked = await key('Revoked', '0');
    const replaced = await key('Replaced', null, inDays(3));
    const expiring = await key('Expiring', null, inDays(6.9));
    const expired = await key('Expired', null, inDays(6));
    const longGone = await key('Long gone', null, inDays(6));
    await key('Later', null, inDays(8));
    await sql`update api_keys set expires_at = now() - interval '6 days' where id = ${expired}`;
    await sql`update api_keys set expires_at = now() - interval '8 days' where id = ${longGone}`;
    await sql`update api_keys set revoked_at = now() where id = ${revoked}`;
    await sql`update api_keys set revoked_at = now() + interval '1 day' where id = ${replaced}`;
    const spend = (id: string, month: string, spent: string) =>
      sql.unsafe(`update api_key_meters set month = ${month}, month_spent = ${spent} where key_id = '${id}'`);
    const thisMonth = `date_trunc('month', now() at time zone 'UTC')`;
    await spend(near, thisMonth, '0.8');
    await spend(at, thisMonth, '1');
    await spend(lastMonth, `${thisMonth} - interval '1 month'`, '1');
    await sql`update accounts set suspended_at = now() where id = ${fixture.account}`;
    const circuit = { state: 'open', consecutive_failures: 5, until: '2030-01-01T00:00:00.000Z' };
    const halfOpen = { ...circuit, state: 'half_open', until: null };
    const report = {
      circuits: [
        { provider: 'main', model: 'full', ...circuit },
        { provider: 'main', model: 'never called', ...circuit },
        { provider: 'backup', model: 'full', ...halfOpen },
      ],
      price_version: '1',
      catalog_error: null,
    };
    const addNode = (name: string, stoppedAt: Date | null, content: unknown) => sql`
      insert into nodes (id, name, heartbeat_at, stopped_at, report)
      values (${newId()}, ${name}, now() + interval '1 hour', ${stoppedAt}, ${content})`;
    await addNode('another', null, report);
    await addNode('stopped', new Date(), {
      ...report,
      circuits: [{ provider: 'gone', model: 'full', ...circuit }],
    });
    await addNode('of another version', null, { circuits: 'unknown' });
    const { is_suspended: isSuspended, attention } = await overview();
    await sql`delete from nodes where name in ('another', 'stopped', 'of another version')`;
    await sql`update accounts set suspended_at = null where id = ${fixture.account}`;
    await sql`update api_key_meters set month = 'epoch', month_spent = 0 where key_id in (${near}, ${at}, ${lastMonth})`;
    expect(isSuspended).toBe(true);
    const [soon] = await sql<[{ expires_at: Date }]>`select expires_at from api_keys where id = ${expiring}`;
    const [past] = await sql<[{ expires_at: Date }]>`select expires_at from api_keys where id = ${expired}`;
    expect(attention).toEqual([
      { kind: 'account_suspended' },
      { kind: 'key_at_limit', key_id: at, name: 'At', spent: '1.000000000000', limit: '1.000000000000' },
      {
        kind: 'key_near_limit',
        key_id: near,
        name: 'Near',
        spent: '0.800000000000',
        limit: '1.000000000000',
      },
      { kind: 'key_expired', key_id: expired, name: 'Expired', expires_at: past.expires_at.toISOString() },
      { kind: 'key_expiring', key_id: expiring, name: 'Expiring', expires_at: soon.expires_at.toISOString() },
      { kind: 'model_unavailable', model: 'full', provider: 'Main', until: '2030-01-01T00:00:00.000Z' },
      { kind: 'model_unavailable', model: 'full', provider: 'Backup', until: null },
    ]);
  }, 60_000);

  test('whose calls succeed again, wherever, is no longer told of a node that has not been asked since', async () => {
    const toldWith = (since: string) =>
      withCircuitInDoubt(since, async () => {
        const { attention } = await overview();
        return attention.some(({ kind }) => kind === 'model_unavailable');
      });
    expect(await toldWith('2030-01-01T00:00:00.000Z')).toBe(true);
    expect(await toldWith('2020-01-01T00:00:00.000Z')).toBe(false);
  });

  test.each([
    ['accounts', 'balance_lookup_failed'],
    ['rollup_progress', 'usage_lookup_failed'],
    ['finished_generations', 'generation_lookup_failed'],
    ['api_key_meters', 'api_keys_lookup_failed'],
    ['nodes', 'model_list_failed'],
  ])('without %s: 500 %s', async (table, code) => {
    const { sql } = fixture.database;
    await withCircuitInDoubt('2020-01-01T00:00:00.000Z', async () => {
      await sql.unsafe(`alter table ${table} rename to ${table}_away`);
      try {
        const response = await fixture.people.owner.send('GET', path);
        expect((await errorOf(response)).slice(0, 2)).toEqual([500, code]);
      } finally {
        await sql.unsafe(`alter table ${table}_away rename to ${table}`);
      }
    });
  });
});

describe('attention', () => {
  const nowMs = Date.UTC(2026, 0, 1);
  const inHours = (hours: number) => new Date(nowMs + hours * 3_600_000).toISOString();
  const calm: Facts = {
    nowMs,
    account: { balance: dollars('100'), held: 0n, isSuspended: false },
    runsOutAt: null,
    typicalHold: null,
    keys: [],
    circuits: [],
    models: new Set(['m']),
    providerName: (id) => id.toUpperCase(),
    lastSuccess: () => null,
  };
  const of = (changes: Partial<Facts>): Attention[] => attentionTo({ ...calm, ...changes });
  const balance = (held: string, runsOutAt: string | null, hold: string | null, whole = '100') =>
    of({
      account: { balance: dollars(whole), held: dollars(held), isSuspended: false },
      runsOutAt,
      typicalHold: hold === null ? null : dollars(hold),
    });
  const low = (left: string, at: string | null): Attention => ({
    kind: 'balance_low',
    balance: left,
    runs_out_at: at,
  });

  test.each([
    ['all is well', '0', null, null, '100', []],
    ['it lasts for three days', '70', inHours(72), '1', '100', []],
    ['it lasts for less', '70', inHours(71.9), '1', '100', [low('30.000000000000', inHours(71.9))]],
    ['it is little, though nothing is spent', '0', null, null, '0.99', [low('0.990000000000', null)]],
    ['it is one dollar', '0', null, '1', '1', []],
    [
      'a typical request fits no more, however long it would last',
      '0',
      inHours(0),
      '0.032',
      '0.0144',
      [{ kind: 'balance_blocked', balance: '0.014400000000', typical_hold: '0.032000000000' }],
    ],
    [
      'all of it is held',
      '100',
      inHours(0),
      '1',
      '100',
      [{ kind: 'balance_empty', balance: '0.000000000000', runs_out_at: inHours(0) }],
    ],
  ] as [string, string, string | null, string | null, string, Attention[]][])(
    'balance: %s',
    (_, held, runsOutAt, hold, whole, expected) => {
      expect(balance(held, runsOutAt, hold, whole)).toEqual(expected);
    },
  );

  const key: WatchedKey = {
    id: newId(),
    name: 'Key',
    spent: 0n,
    monthlyLimit: null,
    typicalHold: null,
    expiresAt: null,
    isExpired: false,
    isReplaced: false,
  };

  test.each([
    ['0.799999999999', '1', []],
    ['0.8', '1', ['key_near_limit']],
    ['0.999999999999', '1', ['key_near_limit']],
    ['1', '1', ['key_at_limit']],
    ['2', '1', ['key_at_limit']],
    ['0', '0', ['key_at_limit']],
  ])('a key that has spent %s of %s: %p', (spent, limit, kinds) => {
    const watched = { ...key, spent: dollars(spent), monthlyLimit: dollars(limit) };
    const found = of({ keys: [watched] });
    expect(found.map(({ kind }) => kind)).toEqual(kinds as Attention['kind'][]);
    for (const one of found)
      expect(one).toMatchObject({ key_id: key.id, spent: formatMoney(dollars(spent)) });
    expect(of({ keys: [{ ...watched, isExpired: true }] })).toEqual([]);
  });

  test.each([
    ['0.97', '0.05', 'key_blocked'],
    ['0.22', '0.8', 'key_blocked'],
    ['0.95', '0.05', 'key_near_limit'],
    ['0.22', '0.05', undefined],
    // Nothing is left at all, which says more.
    ['1', '0.05', 'key_at_limit'],
  ])('a key that has spent %s of 1, and whose requests hold %s: %p', (spent, hold, kind) => {
    const watched = {
      ...key,
      spent: dollars(spent),
      monthlyLimit: dollars('1'),
      typicalHold: dollars(hold),
    };
    const found = of({ keys: [watched] });
    expect(found.map((one) => one.kind)).toEqual((kind === undefined ? [] : [kind]) as Attention['kind'][]);
    if (kind === 'key_blocked')
      expect(found[0]).toMatchObject({
        left: formatMoney(dollars('1') - dollars(spent)),
        typical_hold: formatMoney(dollars(hold)),
      });
    expect(of({ keys: [{ ...watched, isExpired: true }] })).toEqual([]);
  });

  test('of keys that expire, replaced ones need no attention', () => {
    const expiresAt = new Date('2026-01-01');
    const kinds = (changes: Partial<WatchedKey>) =>
      of({ keys: [{ ...key, expiresAt, ...changes }] }).map(({ kind }) => kind);
    expect(kinds({})).toEqual(['key_expiring']);
    expect(kinds({ isExpired: true })).toEqual(['key_expired']);
    expect(kinds({ isReplaced: true })).toEqual([]);
    expect(kinds({ isReplaced: true, isExpired: true })).toEqual([]);
  });

  test('no more than 20 of a kind', () => {
    const many = Array.from({ length: 50 }, () => ({ ...key, id: newId(), spent: 1n, monthlyLimit: 1n }));
    expect(of({ keys: many })).toHaveLength(20);
  });

  const circuit: ReportedCircuit = {
    provider: 'p',
    model: 'm',
    state: 'open',
    consecutive_failures: 5,
    until: '2026-01-01T00:00:00.000Z',
    failing_since: '2025-12-31T23:59:30.000Z',
    accounts_shut: 0,
    setback: null,
  };

  test('a circuit that is open on several nodes counts once, until the last of them tries again', () => {
    const later = { ...circuit, until: '2026-01-01T00:00:09.000Z' };
    const expected = [{ kind: 'model_unavailable', model: 'm', provider: 'P', until: later.until }];
    expect(of({ circuits: [circuit, later, { ...circuit, until: null }] }) as unknown[]).toEqual(expected);
    expect(of({ circuits: [later, circuit] }) as unknown[]).toEqual(expected);
  });

  test('one that is half open counts until a call of the account has succeeded since it opened', () => {
    const halfOpen: ReportedCircuit = { ...circuit, state: 'half_open', until: null };
    const expected = [{ kind: 'model_unavailable', model: 'm', provider: 'P', until: null }];
    const successAt = (time: string | null) =>
      of({ circuits: [halfOpen], lastSuccess: () => (time === null ? null : new Date(time)) }) as unknown[];
    expect(successAt(null)).toEqual(expected);
    expect(successAt('2025-12-31T23:59:29.999Z')).toEqual(expected);
    expect(successAt('2025-12-31T23:59:31.000Z')).toEqual([]);
    // One that is open is not called at all, whoever was served before.
    const open = of({ circuits: [circuit], lastSuccess: () => new Date('2026-01-01T00:00:00.000Z') });
    expect(open).toHaveLength(1);
    // Of a version that did not say since when.
    const older = { ...halfOpen, failing_since: null };
    expect(of({ circuits: [older], lastSuccess: () => new Date() })).toHaveLength(1);
  });

  test('only those that are not closed count, and only of models that the account calls', () => {
    const others: ReportedCircuit[] = [
      { ...circuit, state: 'closed' },
      { ...circuit, model: '__proto__' },
    ];
    expect(of({ circuits: others })).toEqual([]);
    const named = of({ circuits: others, models: new Set(['__proto__']) });
    expect(named).toMatchObject([{ kind: 'model_unavailable', model: '__proto__' }]);
  });
});
