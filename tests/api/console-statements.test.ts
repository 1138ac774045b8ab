/** The console's statements by month: whatever moved a balance, each leads from one balance to the next. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createAccount } from '../../src/accounts/account-store.ts';
import { auditLedger } from '../../src/audit/audit.ts';
import type { BillingMonths, MonthStatement } from '../../src/console/billing-contract.ts';
import { maxRows, presentDetail } from '../../src/console/billing-months.ts';
import { maxEntriesLeft, type StatementSum } from '../../src/console/billing-queries.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { type EntryKind, entryKinds } from '../../src/ledger/entries.ts';
import { formatMoney, type Money, moneyFromDatabase, parseMoney } from '../../src/lib/money.ts';
import type { Role } from '../../src/people/user-store.ts';
import { addUpStatements, statementLock } from '../../src/usage/statement-days.ts';
import { type BookedEntry, bookEntries } from '../support/booked-entries.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { addCheapUser } from '../support/cheap-user.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { outcomeFor, type Person, signIn, type Visitor, visitor } from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';

/** Not the fixture of other tests, which audits the ledger: what is booked here need not make sense as a whole. */
let database: TestDatabase;
let gateway: Gateway;
let people: Readonly<Record<Person, Visitor>>;
let account: string;

beforeAll(async () => {
  database = await createDatabase();
  const { sql } = database;
  ({ id: account } = await createAccount(sql, 'Theirs', dollars('100')));
  const { id: other } = await createAccount(sql, 'Other', 0n);
  const environment = { DATABASE_URL: database.url, TOLLGATE_DATA: temporaryFolder() };
  gateway = await startGateway(environment);
  const enter = async (name: string, accountId: string | null, role: Role = 'owner') => {
    await addCheapUser(sql, `${name}@example.com`, 'correct horse battery', { accountId, role });
    return visitor(gateway.origin, await signIn(gateway.origin, name));
  };
  people = {
    'signed out': visitor(gateway.origin, ''),
    stranger: await enter('stranger', other),
    member: await enter('member', account, 'member'),
    owner: await enter('owner', account),
    operator: await enter('operator', null),
  };
}, 60_000);

afterAll(async () => {
  await gateway.stop();
  await database.close();
});

const pathOf = (account: string, month = '') =>
  `/api/console/accounts/${account}/billing/months${month && `/${month}`}`;

async function read<Body>(path: string): Promise<Body> {
  const response = await people.member.send('GET', path);
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}

const monthsOf = async (account: string) => (await read<BillingMonths>(pathOf(account))).data;
const statementOf = (account: string, month: string) => read<MonthStatement>(pathOf(account, month));

async function csvOf(account: string, month: string): Promise<string[][]> {
  const response = await people.member.send('GET', pathOf(account, `${month}.csv`));
  expect(response.headers.get('content-disposition')).toBe(`attachment; filename="statement-${month}.csv"`);
  const lines = (await response.text()).trimEnd().split('\r\n');
  return lines.map((line) => line.split(',').map((cell) => cell.replace(/^"(.*)"$/, '$1')));
}

/** An account of the member, with two keys. */
async function newAccount(): Promise<{ account: string; keys: string[] }> {
  const { sql } = database;
  const { id: account } = await createAccount(sql, 'Own', 0n);
  await sql`
    insert into memberships (user_id, account_id, role)
    select id, ${account}, 'member' from users where email = 'member@example.com'`;
  const keys: string[] = [];
  for (const name of ['one', 'two']) {
    const created = await createKey(sql, {
      accountId: account,
      name,
      requestsPerMinute: 1,
      monthlyLimit: null,
      allowedModels: null,
      expiresAt: null,
    });
    keys.push(created?.id ?? '');
  }
  return { account, keys };
}

const dollars = (text: string) => parseMoney(text) ?? 0n;
const sumOf = (amounts: readonly string[]): Money =>
  amounts.reduce((sum, amount) => sum + moneyFromDatabase(amount), 0n);

describe('who may', () => {
  test.each([
    ['signed out', 'session_required'],
    ['stranger', 'account_not_found'],
    ['member', null],
    ['owner', null],
    ['operator', null],
  ] as const)('%s', async (person, expected) => {
    const month = new Date().toISOString().slice(0, 7);
    for (const path of ['', month, `${month}.csv`])
      expect(await outcomeFor(people[person], 'GET', pathOf(account, path))).toBe(expected);
  });

  test.each([
    '2026-13',
    '2026-00',
    '1999-12',
    '2026-1',
    '2026-11.pdf',
    '2026-11-01',
    '__proto__',
    '%00',
    '2199-12',
    '2001-01',
    '2001-01.csv',
  ])('there is no statement for %s', async (month) => {
    expect(await outcomeFor(people.owner, 'GET', pathOf(account, month))).toBe('month_not_found');
  });

  test('parameters are refused by name', async () => {
    for (const path of ['?from=1', '2026-11?from=1', '2026-11.csv?from=1'].map((end) =>
      end.startsWith('?') ? pathOf(account) + end : pathOf(account, end),
    )) {
      const response = await people.owner.send('GET', path);
      const { error } = (await response.json()) as ErrorBody;
      expect([error.code, error.param]).toEqual(['unsupported_parameter', 'from']);
    }
  });
});

/** Moments around the ends of months, and in the middle. */
const moments = [
  '2024-01-31T23:59:59.999Z',
  '2024-02-01T00:00:00.000Z',
  '2024-02-01T00:00:00.001Z',
  '2024-02-29T12:00:00.000Z',
  '2024-02-29T23:59:59.999999Z',
  '2024-03-01T00:00:00.000Z',
  '2024-05-15T00:00:00.000Z',
] as const;

const generated = fc.record({
  kind: fc.constantFrom<EntryKind>(...entryKinds),
  size: fc.bigInt({ min: 1n, max: 10n ** 15n }),
  isNegative: fc.boolean(),
  category: fc.constantFrom('paid', 'promotional', 'allowance', null),
  model: fc.constantFrom('a', 'b', '__proto__'),
  key: fc.constantFrom(0, 1),
  moment: fc.nat({ max: 3 }),
  isAddedUp: fc.boolean(),
});

/** What was booked, by the plainest SQL. */
async function expectedOf(account: string, month: string) {
  const { sql } = database;
  const rows = await sql`
    with entries as (
      select ledger_entries.*, to_char(ledger_entries.created_at at time zone 'UTC', 'YYYY-MM') as month,
             to_char(ledger_entries.created_at at time zone 'UTC', 'YYYY-MM-DD') as day,
             model, key_id, coalesce(category, 'paid') as category
      from ledger_entries left join usage_records on usage_records.id = generation_id
      left join grants on grants.account_id = ledger_entries.account_id and grants.number = ledger_entries.number
      where ledger_entries.account_id = ${account}
    )
    select 'opening' as what, null as name, 0 as entries,
           coalesce((select balance_after from entries where month < ${month} order by number desc limit 1), 0)::text as amount
    union all
    select 'closing', null, 0,
           coalesce((select balance_after from entries where month <= ${month} order by number desc limit 1), 0)::text
    union all
    select 'line', kind || case kind when 'credit' then ' ' || category else '' end, count(*), sum(amount)::text
    from entries where month = ${month} group by 2
    union all
    select kind || ' by model', model, count(*), abs(sum(amount))::text from entries
    where month = ${month} and kind in ('charge', 'refund') group by kind, model
    union all
    select kind || ' by key', key_id::text, count(*), abs(sum(amount))::text from entries
    where month = ${month} and kind in ('charge', 'refund') group by kind, key_id
    union all
    select kind || ' by day', day, count(*), abs(sum(amount))::text from entries
    where month = ${month} and kind in ('charge', 'refund') group by kind, day`;
  return rows
    .map(({ what, name, entries, amount }: { what: string; name: string; entries: bigint; amount: string }) =>
      [what, name ?? '', Number(entries), formatMoney(moneyFromDatabase(amount))].join(' | '),
    )
    .toSorted();
}

/** A statement in the same form. */
function plainOf({ closing, detail }: MonthStatement): string[] {
  if (detail === null) throw new Error('There is no detail.');
  const groups = [
    ...detail.by_model.map((row) => ({ ...row, by: 'model', name: row.model })),
    ...detail.by_key.map((row) => ({ ...row, by: 'key', name: row.key_id })),
    ...detail.by_day.map((row) => ({ ...row, by: 'day', name: row.day })),
  ];
  return [
    `opening |  | 0 | ${detail.opening}`,
    `closing |  | 0 | ${closing}`,
    ...detail.lines.map(
      ({ kind, category, entries, amount }) =>
        `line | ${kind}${category === null ? '' : ` ${category}`} | ${entries} | ${amount}`,
    ),
    ...groups.flatMap(({ by, name, requests, charged, refunded }) => [
      ...(requests > 0 ? [`charge by ${by} | ${name} | ${requests} | ${charged}`] : []),
      ...(sumOf([refunded]) > 0n ? [`refund by ${by} | ${name} | ? | ${refunded}`] : []),
    ]),
  ].toSorted();
}

/** A statement does not say how many refunds a model had. */
const withoutRefundCounts = (lines: string[]) =>
  lines.map((line) => line.replace(/^(refund by .*) \| \d+ \| /, '$1 | ? | ')).toSorted();

describe('a statement', () => {
  test('has the sums of the entries of its month, whichever of them were added up', async () => {
    const { sql } = database;
    await fc.assert(
      fc.asyncProperty(fc.array(generated, { minLength: 1, maxLength: 12 }), async (steps) => {
        const { account, keys } = await newAccount();
        let place = 0;
        const book = (entry: BookedEntry) => bookEntries(sql, account, [entry]);
        await book({ kind: 'credit', amount: dollars('100000'), at: new Date('2024-01-02') });
        for (const { kind, size, isNegative, category, model, key, moment, isAddedUp } of steps) {
          place = Math.min(moments.length - 1, place + moment);
          const isTaken = {
            credit: false,
            refund: false,
            charge: true,
            expiry: true,
            void: true,
            correction: isNegative,
          }[kind];
          await book({
            kind,
            amount: isTaken ? -size : size,
            at: moments[place] ?? '',
            category,
            ...(kind === 'charge' || kind === 'refund' ? { model, keyId: keys[key] ?? '' } : {}),
          });
          if (isAddedUp) await addUpStatements(sql);
        }
        const months = await monthsOf(account);
        expect(months[0]?.month).toBe(new Date().toISOString().slice(0, 7));
        expect(months.at(-1)?.month).toBe('2024-01');
        for (const month of ['2024-01', '2024-02', '2024-03', '2024-04', '2024-05', '2024-06']) {
          const statement = await statementOf(account, month);
          expect(plainOf(statement)).toEqual(withoutRefundCounts(await expectedOf(account, month)));
          expect(months.find((one) => one.month === month)?.closing).toBe(statement.closing);
          const { opening = '', lines = [] } = statement.detail ?? {};
          expect(sumOf([opening, ...lines.map(({ amount }) => amount)])).toBe(sumOf([statement.closing]));
        }
      }),
      { numRuns: 12 },
    );
  }, 60_000);

  test('of the current month goes up to now, and its file adds up', async () => {
    const { sql } = database;
    const { account, keys } = await newAccount();
    const now = new Date();
    const month = now.toISOString().slice(0, 7);
    const [keyId = ''] = keys;
    await bookEntries(sql, account, [
      { kind: 'credit', amount: dollars('10'), at: '2024-02-29T23:00:00Z', category: 'promotional' },
      { kind: 'charge', amount: -dollars('0.25'), at: `${month}-01T00:00:00Z`, model: '=a', keyId },
      { kind: 'charge', amount: -dollars('0.5'), at: now, model: '=a', keyId },
      { kind: 'refund', amount: dollars('0.000000000001'), at: now, model: '=a', keyId },
    ]);
    const statement = await statementOf(account, month);
    expect(statement).toMatchObject({ month, is_open: true, is_archived: false, closing: '9.250000000001' });
    expect(statement.detail?.lines.map(({ kind, entries }) => [kind, entries])).toEqual([
      ['charge', 2],
      ['refund', 1],
    ]);
    for (const isAddedUp of [false, true]) {
      if (isAddedUp) await addUpStatements(sql);
      const [header, ...lines] = await csvOf(account, month);
      expect(header?.join()).toBe('day,line,category,model,key_id,key_name,entries,amount_usd,balance_usd');
      expect(lines[0]).toEqual([`${month}-01`, 'opening_balance', '', '', '', '', '', '', '10.000000000000']);
      expect(lines.at(-1)?.at(-1)).toBe('9.250000000001');
      const rows = lines.slice(1, -1);
      expect(rows[0]?.slice(1, 6)).toEqual(['charge', '', "'=a", keyId, 'one']);
      expect(sumOf(rows.map((row) => row[7] ?? ''))).toBe(dollars('9.250000000001') - dollars('10'));
    }
    expect((await csvOf(account, '2024-02')).slice(1)).toEqual([
      ['2024-02-01', 'opening_balance', '', '', '', '', '', '', '0.000000000000'],
      ['2024-02-29', 'credit', 'promotional', '', '', '', '1', '10.000000000000', ''],
      ['2024-02-29', 'closing_balance', '', '', '', '', '', '', '10.000000000000'],
    ]);
  });

  test('is not shown if it does not add up', async () => {
    const { sql } = database;
    const { account } = await newAccount();
    await bookEntries(sql, account, [{ kind: 'credit', amount: 5n, at: '2024-02-02T00:00:00Z' }]);
    await addUpStatements(sql);
    await sql`update statement_days set amount = amount + 0.000000000001 where account_id = ${account}`;
    expect(await outcomeFor(people.member, 'GET', pathOf(account, '2024-02'))).toBe('balance_lookup_failed');
    // The file has begun when that is found: it is cut.
    const file = await people.member.send('GET', pathOf(account, '2024-02.csv'));
    const ended = await file.text().then(
      () => 'complete',
      () => 'cut',
    );
    expect(ended).toBe('cut');
  });
});

test('what was archived before it was added up has a balance alone', async () => {
  const { sql } = database;
  const { account } = await newAccount();
  await bookEntries(sql, account, [
    { kind: 'credit', amount: dollars('7'), at: '2024-02-02T00:00:00Z' },
    { kind: 'correction', amount: -dollars('3'), at: '2024-03-02T00:00:00Z' },
    { kind: 'credit', amount: dollars('1'), at: '2024-05-02T00:00:00Z' },
  ]);
  // As the archive of an earlier version leaves it.
  const archive = crypto.randomUUID();
  await sql`
    insert into ledger_archives (id, begins_on, ends_on, file_name, digest, size_bytes, entry_count, record_count)
    values (${archive}, null, '2024-04-01', 'ledger-to-2024-03.jsonl.gz', sha256('x'), 1, 2, 0)`;
  await sql`
    insert into ledger_archive_accounts (archive_id, account_id, first_number, last_number, balance_before, balance_after)
    values (${archive}, ${account}, 1, 2, 0, 4)`;
  await sql.begin(async (transaction) => {
    await transaction`set local session_replication_role = replica`;
    await transaction`delete from ledger_entries where account_id = ${account} and number <= 2`;
  });
  for (const isAddedUp of [false, true]) {
    if (isAddedUp) await addUpStatements(sql);
    const months = await monthsOf(account);
    expect(months.slice(-3).map(({ month, closing, is_archived: is }) => [month, closing, is])).toEqual([
      ['2024-05', '5.000000000000', false],
      ['2024-04', '4.000000000000', false],
      ['2024-03', '4.000000000000', true],
    ]);
    expect(await statementOf(account, '2024-03')).toMatchObject({ closing: '4.000000000000', detail: null });
    expect(await outcomeFor(people.member, 'GET', pathOf(account, '2024-02'))).toBe('month_not_found');
    expect((await statementOf(account, '2024-05')).detail).toMatchObject({
      opening: '4.000000000000',
      lines: [{ kind: 'credit', category: 'paid', entries: 1, amount: '1.000000000000' }],
    });
  }
});

test('what is counted while entries are added up is counted once', async () => {
  const { sql } = database;
  const { account, keys } = await newAccount();
  const [keyId = ''] = keys;
  await bookEntries(sql, account, [{ kind: 'credit', amount: dollars('1'), at: '2024-02-02T00:00:00Z' }]);
  for (let turn = 1; turn <= 8; turn++) {
    const [statement] = await Promise.all([
      statementOf(account, '2024-02'),
      bookEntries(sql, account, [
        { kind: 'charge', amount: -1n, at: `2024-02-0${turn}T12:00:00Z`, model: 'a', keyId },
      ]),
      sql`select add_up_statement(${account}, 1)`,
      sql`select add_up_statement(${account}, 2)`,
      addUpStatements(sql),
    ]);
    expect(statement.detail).not.toBeNull();
  }
  const { closing, detail } = await statementOf(account, '2024-02');
  expect([closing, detail?.by_model]).toEqual([
    '0.999999999992',
    [{ model: 'a', requests: 8, charged: '0.000000000008', refunded: '0.000000000000' }],
  ]);
  await eventually('the rest', async () => {
    await addUpStatements(sql);
    const [row] = await sql`select entry_number from statement_progress where account_id = ${account}`;
    return row?.entry_number === 9n;
  });
  expect((await statementOf(account, '2024-02')).closing).toBe(closing);
});

test('an account with too many entries that are not added up has no statements yet', async () => {
  const { sql } = database;
  const { account } = await newAccount();
  await bookEntries(sql, account, [{ kind: 'credit', amount: 5n, at: '2024-02-02T00:00:00Z' }]);
  const adder = await sql.reserve();
  try {
    // As if another node were adding up.
    await adder`select pg_advisory_lock(${statementLock})`;
    const month = new Date().toISOString().slice(0, 7);
    for (const [count, isReady] of [
      [maxEntriesLeft, true],
      [maxEntriesLeft + 1, false],
    ] as const) {
      await sql`update accounts set entry_count = ${count} where id = ${account}`;
      const months = await read<BillingMonths>(pathOf(account));
      expect([months.is_being_added_up, months.data.length > 0]).toEqual([!isReady, isReady]);
      for (const path of [month, `${month}.csv`])
        expect(await outcomeFor(people.member, 'GET', pathOf(account, path))).toBe(
          isReady ? null : 'statements_not_ready',
        );
    }
    expect(await outcomeFor(people.stranger, 'GET', pathOf(account))).toBe('account_not_found');
    await sql`update accounts set entry_count = 1 where id = ${account}`;
  } finally {
    await adder`select pg_advisory_unlock_all()`;
    await adder.release();
  }
});

test('a full audit finds a sum that is wrong, one that is missing, and one of nothing', async () => {
  const { sql } = database;
  // What other tests have left is none of its business. They have archived 2024.
  await sql`delete from statement_days`;
  await sql`delete from statement_progress`;
  const { account, keys } = await newAccount();
  await bookEntries(sql, account, [
    { kind: 'credit', amount: 9n, at: '2025-02-02T00:00:00Z', category: 'allowance' },
    { kind: 'charge', amount: -3n, at: '2025-02-03T00:00:00Z', model: 'a', keyId: keys[0] ?? '' },
  ]);
  await sql`select add_up_statement(${account}, 10)`;
  const found = async () => {
    const one = (await auditLedger(sql)).find(({ invariant }) => invariant.startsWith('statements that'));
    return [one?.checked, one?.violations];
  };
  expect(await found()).toEqual([2, 0]);
  await sql`update statement_days set amount = amount + 0.000000000001 where kind = 'charge'`;
  expect(await found()).toEqual([2, 1]);
  await sql`update statement_days set amount = amount - 0.000000000001, day = day + 1 where kind = 'charge'`;
  expect(await found()).toEqual([3, 2]);
  await sql`delete from statement_days where kind = 'charge'`;
  expect(await found()).toEqual([2, 1]);
});

test('more keys than fit are summed up in the last row', () => {
  const sums = Array.from({ length: maxRows + 3 }, (_, index): StatementSum[] => {
    const sum = { kind: 'charge', keyName: null, model: null, entries: 1, amount: BigInt(-index) } as const;
    return [
      { ...sum, category: '', keyId: null, day: null },
      { ...sum, category: null, keyId: `key ${index}`, day: null },
    ];
  }).flat();
  const total = BigInt(((maxRows + 2) * (maxRows + 3)) / 2);
  const { by_key: rows } = presentDetail({ opening: total, closing: 0n, sums });
  expect(rows).toHaveLength(maxRows + 1);
  expect(rows[0]).toMatchObject({ key_id: `key ${maxRows + 2}` });
  expect(rows.at(-1)).toMatchObject({ key_id: null, requests: 3, charged: formatMoney(3n) });
  expect(sumOf(rows.map(({ charged }) => charged))).toBe(total);
});
