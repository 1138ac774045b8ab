/** The console's usage: by day, model and key, on a page and as a file. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createAccount } from '../../src/accounts/account-store.ts';
import { auditLedger } from '../../src/audit/audit.ts';
import type { Usage } from '../../src/console/contract.ts';
import { parseRange } from '../../src/console/usage.ts';
import { beginningOf, findUsage } from '../../src/console/usage-queries.ts';
import { ApiError } from '../../src/errors.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { asText, quoted } from '../../src/lib/csv.ts';
import { newId } from '../../src/lib/ids.ts';
import { formatMoney, parseMoney } from '../../src/lib/money.ts';
import { addDays, countDays, dayOf, everyDay } from '../../src/usage/days.ts';
import { addUpUsage } from '../../src/usage/usage-days.ts';
import { type BilledUsage, bill } from '../support/billed-usage.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { type ConsoleFixture, openConsoleFixture, outcomeFor } from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, temporaryFolder } from '../support/gateway.ts';

let fixture: ConsoleFixture;
let path: string;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  path = `/api/console/accounts/${fixture.account}/usage`;
}, 60_000);

afterAll(() => fixture.close());

const cent = parseMoney('0.01') ?? 0n;

async function usageOf(query: string, of = path): Promise<Usage> {
  const response = await fixture.people.member.send('GET', `${of}${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Usage;
}

async function csvOf(query: string): Promise<{ headers: Headers; text: string }> {
  const response = await fixture.people.member.send('GET', `${path}.csv${query}`);
  expect(response.status).toBe(200);
  return { headers: response.headers, text: await response.text() };
}

async function errorOf(response: Response): Promise<[number, string, string | undefined]> {
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code, error.param];
}

/** A strict reader of RFC 4180: throws on anything outside its grammar. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [];
  const row: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  while (field.lastIndex < text.length) {
    const match = field.exec(text);
    if (match === null) throw new Error(`This is no CSV: ${JSON.stringify(text.slice(0, 200))}`);
    row.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (match[3] === '\r\n') rows.push(row.splice(0));
  }
  return rows;
}

const csvColumns =
  'day,model,key_id,key_name,requests,input_tokens,output_tokens,images,cost_usd,cache_read_tokens,cache_write_tokens,cache_saved_usd'.split(
    ',',
  );

describe('who may', () => {
  test.each([
    ['a number', '1'],
    ['SQL', encodeURIComponent("' or 1=1 --")],
    ['a name of the language', '__proto__'],
    ['NUL', '%00'],
    ['a long text', 'x'.repeat(5_000)],
  ])('%s is no account', async (_, word) => {
    for (const form of ['usage', 'usage.csv'])
      expect(await outcomeFor(fixture.people.owner, 'GET', `/api/console/accounts/${word}/${form}`)).toBe(
        'account_not_found',
      );
  });
});

describe('the requested days', () => {
  test.each([
    ['?from=2024-02-30', 'from'],
    ['?to=2023-02-29', 'to'],
    ['?from=2024-1-1', 'from'],
    ['?from=', 'from'],
    ['?to=20240101', 'to'],
    ['?from=2024-01-01T00:00:00Z', 'from'],
    ['?from=1999-12-31', 'from'],
    ['?to=2200-01-01', 'to'],
    ['?to=9999-12-31', 'to'],
    ['?from=0000-00-00', 'from'],
    ['?from=%00', 'from'],
    ["?from='%3B%20drop%20table%20accounts", 'from'],
    ['?from=2024-05-02&to=2024-05-01', 'from'],
    ['?from=2023-01-01&to=2024-01-02', 'from'],
    ['?from=2100-01-01', 'from'],
    ['?from=2024-01-01&from=2024-01-01', 'from'],
  ])('%s: invalid_parameter', async (query, param) => {
    for (const form of ['', '.csv']) {
      const response = await fixture.people.owner.send('GET', path + form + query);
      expect(await errorOf(response)).toEqual([400, 'invalid_parameter', param]);
    }
  });

  test('any other parameter is refused by name', async () => {
    for (const name of ['limit', '__proto__', 'constructor']) {
      const response = await fixture.people.owner.send('GET', `${path}?${name}=1`);
      expect(await errorOf(response)).toEqual([400, 'unsupported_parameter', name]);
    }
  });

  test.each([
    ['', addDays(dayOf(new Date()), -29), dayOf(new Date())],
    ['?to=2024-03-01', '2024-02-01', '2024-03-01'],
    ['?from=2024-01-01&to=2024-12-31', '2024-01-01', '2024-12-31'],
    ['?from=2024-02-29&to=2024-02-29', '2024-02-29', '2024-02-29'],
  ])('%p', async (query, from, to) => {
    expect(await usageOf(query)).toMatchObject({ from, to });
  });

  test('no accepted range has more than 366 days, and none is turned round', () => {
    const day = fc
      .date({ min: new Date('1995-01-01'), max: new Date('2205-01-01'), noInvalidDate: true })
      .map(dayOf);
    fc.assert(
      fc.property(fc.option(day), fc.option(day), day, (from, to, today) => {
        const query = new URLSearchParams({ ...(from && { from }), ...(to && { to }) });
        let range: { from: string; to: string };
        try {
          range = parseRange(query, today);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
          return;
        }
        expect(range.from <= range.to).toBe(true);
        expect(countDays(range.from, range.to)).toBeLessThanOrEqual(366);
        expect(everyDay(range.from, range.to).at(-1)).toBe(range.to);
        if (from !== null) expect(range.from).toBe(from);
        if (to !== null) expect(range.to).toBe(to);
      }),
    );
  });
});

describe('what was used', () => {
  /** A key of the account with a name that spreadsheets and shells dislike. */
  const oddName = '=HYPERLINK("http://x","a,b")';
  let oddKey: string;

  beforeAll(async () => {
    const made = await runCommand<{ id: string }>(
      ['key', 'create', '--account', fixture.account, '--name', oddName],
      fixture.environment,
    );
    oddKey = made.id;
    const used = (keyId: string, model: string, at: string, cost: bigint, images?: number): BilledUsage => ({
      keyId,
      model,
      billedAt: new Date(at),
      inputTokens: images === undefined ? 10 : 0,
      outputTokens: images === undefined ? 5 : 0,
      ...(images === undefined ? {} : { images }),
      cost,
    });
    await bill(fixture.database.sql, fixture.account, [
      used(fixture.keyId, 'b', '2024-05-01T23:59:59.999Z', 1n),
      used(fixture.keyId, 'a', '2024-05-02T00:00:00.000Z', cent),
      used(oddKey, 'a', '2024-05-02T12:00:00.000Z', 2n * cent),
      used(oddKey, 'picture', '2024-05-02T12:00:00.000Z', 4n * cent, 3),
      used(fixture.keyId, 'a', '2024-05-02T12:00:00.000Z', cent),
      used(fixture.keyId, 'a', '2024-05-03T00:00:00.000Z', cent),
    ]);
    const { keyId, database, strangersAccount, strangersKeyId } = fixture;
    expect(keyId < oddKey).toBe(true);
    await bill(database.sql, strangersAccount, [
      used(strangersKeyId, 'theirs', '2024-05-02T12:00:00Z', cent),
    ]);
  });

  const figures = (requests: number, cost: bigint, images = 0) => ({
    requests,
    input_tokens: (images > 0 ? requests - 1 : requests) * 10,
    output_tokens: (images > 0 ? requests - 1 : requests) * 5,
    images,
    cost: formatMoney(cost),
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    cache_saved: formatMoney(0n),
  });

  test('by day in UTC, model and key, with totals, and nothing from other days or accounts', async () => {
    const key = { key_id: fixture.keyId, key_name: 'default' };
    const odd = { key_id: oddKey, key_name: oddName };
    const answer = await usageOf('?from=2024-05-01&to=2024-05-02');
    const [row] = await fixture.database.sql`select name from api_keys where id = ${fixture.keyId}`;
    key.key_name = row.name;
    expect(answer).toEqual({
      from: '2024-05-01',
      to: '2024-05-02',
      totals: figures(5, 8n * cent + 1n, 3),
      rows: [
        { day: '2024-05-01', model: 'b', ...key, ...figures(1, 1n) },
        { day: '2024-05-02', model: 'a', ...key, ...figures(2, 2n * cent) },
        { day: '2024-05-02', model: 'a', ...odd, ...figures(1, 2n * cent) },
        { day: '2024-05-02', model: 'picture', ...odd, ...figures(1, 4n * cent, 3) },
      ],
    });
    expect((await usageOf('?from=2024-05-04&to=2024-05-05')).rows).toEqual([]);
  });

  test('the file has the same rows, and no name in it is a formula', async () => {
    const query = '?from=2024-05-01&to=2024-05-03';
    const { headers, text } = await csvOf(query);
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(headers.get('content-disposition')).toBe(
      'attachment; filename="usage-2024-05-01-to-2024-05-03.csv"',
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    const [head, ...rows] = readCsv(text);
    expect(head).toEqual(csvColumns);
    const { rows: shown } = await usageOf(query);
    expect(rows).toEqual(
      shown.map((row) => [
        row.day,
        row.model,
        row.key_id,
        row.key_name === oddName ? `'${oddName}` : row.key_name,
        `${row.requests}`,
        `${row.input_tokens}`,
        `${row.output_tokens}`,
        `${row.images}`,
        row.cost,
        `${row.cache_read_tokens}`,
        `${row.cache_write_tokens}`,
        row.cache_saved,
      ]),
    );
    expect(text).toContain(`,"'=HYPERLINK(""http://x"",""a,b"")",`);
    expect(text).toContain(',0.000000000001,0,0,0.000000000000\r\n');
  });

  test('a file without usage is its header', async () => {
    expect((await csvOf('?from=2024-06-01&to=2024-06-02')).text).toBe(`${csvColumns.join(',')}\r\n`);
  });

  test('input from caches is counted apart, with what it saved or cost more', async () => {
    const one = (cached: BilledUsage['cached']): BilledUsage => ({
      keyId: fixture.keyId,
      model: 'cached',
      billedAt: new Date('2024-07-01T12:00:00Z'),
      inputTokens: 1_000,
      outputTokens: 5,
      cost: cent,
      ...(cached === undefined ? {} : { cached }),
    });
    await bill(fixture.database.sql, fixture.account, [
      one({ read: 900, write: 0, writeLong: 0, saved: 5n }),
      one({ read: 0, write: 300, writeLong: 40, saved: -12n }),
      // An old record.
      one(null),
    ]);
    const query = '?from=2024-07-01&to=2024-07-01';
    const { totals, rows } = await usageOf(query);
    expect(totals).toEqual({
      requests: 3,
      input_tokens: 3_000,
      output_tokens: 15,
      images: 0,
      cost: formatMoney(3n * cent),
      cache_read_tokens: 900,
      cache_write_tokens: 340,
      cache_saved: '-0.000000000007',
    });
    expect(rows).toMatchObject([totals]);
    expect((await csvOf(query)).text).toEndWith(',0.030000000000,900,340,-0.000000000007\r\n');
  });

  test('the cost of a request is there at once', async () => {
    const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content: '[[usage 10 5]] hi' }] }),
    });
    expect(response.status).toBe(200);
    const { rows } = await usageOf('');
    expect(rows).toMatchObject([
      { model: 'full', requests: 1, input_tokens: 10, output_tokens: 5, cost: '0.000020000000' },
    ]);
  });

  test('500 usage_lookup_failed when it cannot be read, and not half a file', async () => {
    const { sql } = fixture.database;
    await sql`alter table usage_days rename to usage_days_away`;
    try {
      for (const form of ['', '.csv'])
        expect((await errorOf(await fixture.people.owner.send('GET', path + form))).slice(0, 2)).toEqual([
          500,
          'usage_lookup_failed',
        ]);
    } finally {
      await sql`alter table usage_days_away rename to usage_days`;
    }
  });
});

describe('more than a page can show', () => {
  const first = '2023-01-01';
  /** Together 50,100 rows, more than a page shows. */
  const days = 300;
  const models = 167;
  let many: string;

  beforeAll(async () => {
    const { sql } = fixture.database;
    const { id } = await runCommand<{ id: string }>(
      ['account', 'create', '--name', 'Many', '--credit', '10'],
      fixture.environment,
    );
    const key = await runCommand<{ id: string }>(['key', 'create', '--account', id], fixture.environment);
    await sql`
      insert into memberships (user_id, account_id, role)
      select id, ${id}, 'member' from users where email = 'member@example.com'`;
    const usages = everyDay(first, addDays(first, days - 1)).flatMap((day) =>
      Array.from({ length: models }, (_, index) => ({
        keyId: key.id,
        model: `model-${index}`,
        billedAt: new Date(`${day}T12:00:00Z`),
        inputTokens: 1,
        outputTokens: 1,
        cost: 1n,
      })),
    );
    for (let at = 0; at < usages.length; at += 20_000) await bill(sql, id, usages.slice(at, at + 20_000));
    await addUpUsage(sql);
    many = `/api/console/accounts/${id}/usage`;
  }, 60_000);

  test('a page refuses more than 50,000 rows by name, and shows as many', async () => {
    const last = addDays(first, days - 1);
    const tooMany = await fixture.people.member.send('GET', `${many}?from=${first}&to=${last}`);
    expect(await errorOf(tooMany)).toEqual([400, 'invalid_parameter', 'from']);
    const { rows, totals } = await usageOf(`?from=${addDays(first, 1)}&to=${last}`, many);
    expect(rows.length).toBe((days - 1) * models);
    expect(totals).toMatchObject({
      requests: (days - 1) * models,
      cost: formatMoney(BigInt((days - 1) * models)),
    });
  }, 60_000);

  test('the file has every row once and in order', async () => {
    const response = await fixture.people.member.send(
      'GET',
      `${many}.csv?from=${first}&to=${addDays(first, days - 1)}`,
    );
    const [, ...rows] = readCsv(await response.text());
    expect(rows.length).toBe(days * models);
    const places = rows.map(([day, model]) => `${day} ${model}`);
    expect(new Set(places).size).toBe(days * models);
    expect(rows.map(([day]) => day)).toEqual(rows.map(([day]) => day).toSorted());
  }, 60_000);

  test('a file that breaks off does not look complete', async () => {
    const { sql } = fixture.database;
    const url = `${fixture.gateway.origin}${many}.csv?from=${first}&to=${addDays(first, days - 1)}`;
    const setLastCost = (cost: string) =>
      sql`update usage_days set cost = ${cost} where day = ${addDays(first, days - 1)} and model = 'model-99'`;
    // No gateway writes this, and none can show it.
    await setLastCost('NaN');
    const response = await fetch(url, { headers: { cookie: fixture.people.member.cookie } });
    expect(response.status).toBe(200);
    expect(await response.text().catch(() => 'cut short')).toBe('cut short');
    await eventually('the line in the log', () => fixture.gateway.output().includes('download cut short'));
    await setLastCost(formatMoney(1n));
  }, 60_000);
});

describe('as text', () => {
  const hostile = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'=+-@\t\r\n", \'a＝;|') }));

  test('any name is read back unchanged, and no spreadsheet takes it for a formula', () => {
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 4 }), (names) => {
        const line = `${names.map(asText).map(quoted).join(',')}\r\n`;
        const [fields] = readCsv(line);
        expect(fields).toEqual(names.map(asText));
        for (const [index, field] of (fields ?? []).entries()) {
          expect(field).not.toMatch(/^\s*[=+\-@＝＋－＠]/);
          expect(field).not.toMatch(/^[\t\r\n]/);
          // Only apostrophes were added, and none that another reader would take for the end of a cell.
          expect(field.replaceAll("'", '')).toBe((names[index] ?? '').replaceAll("'", ''));
        }
        for (const separator of [',', ';', '|', '\t', '\r', '\n'])
          for (const cell of line.slice(1).split(separator))
            expect(cell).not.toMatch(/^[\s"]*[=+\-@＝＋－＠]/);
      }),
    );
  });

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\ta', '\ra', '  =1', '＝1'])('%p is quoted', (name) => {
    expect(asText(name)).toBe(`'${name}`);
  });

  test.each([
    ["x;=cmd|' /C calc'!A0;", "x;'=cmd|' /C calc'!A0;"],
    ['a|+1', "a|'+1"],
    ['\t=1', "'\t'=1"],
    ['a,\t@x', "a,'\t'@x"],
    ['a; "=1', 'a;\' "=1'],
    ['-a;-b;c', "'-a;'-b;c"],
  ])('%p becomes %p: a reader may separate cells by another sign', (name, text) => {
    expect(asText(name)).toBe(text);
  });

  test.each(['', 'a=b', 'a;b', 'Team A', "'quoted'", '1-2'])('%p stays as it is', (name) => {
    expect(asText(name)).toBe(name);
  });
});

describe('summed up or not', () => {
  let database: TestDatabase;
  let accountId: string;
  let userId: string;
  let keyIds: string[];

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(() => database.close());

  beforeEach(async () => {
    const { sql } = database;
    accountId = (await createAccount(sql, 'Test', 1_000_000n)).id;
    userId = newId();
    await sql`insert into users (id, email, name) values (${userId}, ${`${userId}@example.com`}, 'Test')`;
    await sql`insert into memberships (user_id, account_id, role) values (${userId}, ${accountId}, 'member')`;
    const key = () =>
      createKey(sql, {
        accountId,
        name: 'Key',
        requestsPerMinute: 1,
        monthlyLimit: null,
        allowedModels: null,
        expiresAt: null,
      });
    keyIds = [(await key())?.id ?? '', (await key())?.id ?? ''];
  });

  const ask = (after = beginningOf('2024-01-01'), rowCount = 1_000) =>
    findUsage(database.sql, { userId, accountId }, after, '2024-12-31', rowCount);

  const usage = fc.record({
    key: fc.nat({ max: 1 }),
    model: fc.constantFrom('a', 'b', 'é', 'Z'),
    // Some are billed long after their day, and some long before: nothing is sorted here.
    billedAt: fc.date({
      min: new Date('2023-12-30'),
      max: new Date('2024-01-04'),
      noInvalidDate: true,
    }),
    inputTokens: fc.nat({ max: 1_000 }),
    outputTokens: fc.nat({ max: 1_000 }),
    images: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    cost: fc.bigInt({ min: 0n, max: 100n }),
    /** Shares of the input in percent. */
    cached: fc.option(
      fc.record({
        read: fc.nat({ max: 40 }),
        write: fc.nat({ max: 40 }),
        writeLong: fc.nat({ max: 20 }),
        saved: fc.bigInt({ min: -100n, max: 100n }),
      }),
    ),
  });

  function cachedIn(inputTokens: number, cached: NonNullable<BilledUsage['cached']> | null) {
    const share = (percent: number) => Math.floor((inputTokens * percent) / 100);
    return (
      cached && {
        read: share(cached.read),
        write: share(cached.write),
        writeLong: share(cached.writeLong),
        saved: cached.saved,
      }
    );
  }

  /** The expected result, computed by hand. */
  function expected(usages: readonly (BilledUsage & { day: string })[]) {
    const rows = new Map<string, { day: string; model: string; keyId: string; figures: bigint[] }>();
    for (const one of usages.filter(({ day }) => day >= '2024-01-01')) {
      const { day, model, keyId } = one;
      const name = JSON.stringify([day, model, keyId]);
      const row = rows.get(name) ?? { day, model, keyId, figures: Array.from({ length: 8 }, () => 0n) };
      const { read = 0, write = 0, writeLong = 0, saved = 0n } = one.cached ?? {};
      const counts = [1, one.inputTokens, one.outputTokens, one.images ?? 0, read, write + writeLong];
      const more = [...counts.map(BigInt), one.cost, saved];
      rows.set(name, { ...row, figures: row.figures.map((figure, index) => figure + (more[index] ?? 0n)) });
    }
    return [...rows.values()];
  }

  test('the result is the same, whichever parts were summed up, when, and in what pieces', async () => {
    const step = fc.record({ usages: fc.array(usage, { maxLength: 6 }), isAddedUp: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 5 }),
        async (steps, pieceSize) => {
          // A new account each time: the database keeps what it has.
          const { sql } = database;
          const own = (await createAccount(sql, 'Own', 1_000_000n)).id;
          await sql`insert into memberships (user_id, account_id, role) values (${userId}, ${own}, 'member')`;
          await sql`update api_keys set account_id = ${own} where id in (${keyIds[0] ?? ''}, ${keyIds[1] ?? ''})`;
          accountId = own;
          const all: (BilledUsage & { day: string })[] = [];
          for (const { usages, isAddedUp } of steps) {
            const billed = usages.map(({ key, images, cached, ...rest }) => ({
              ...rest,
              ...(images === undefined
                ? { cached: cachedIn(rest.inputTokens, cached) }
                : { images, inputTokens: 0, outputTokens: 0 }),
              keyId: keyIds[key] ?? '',
              day: dayOf(rest.billedAt),
            }));
            await bill(sql, own, billed);
            all.push(...billed);
            if (isAddedUp) await addUpUsage(sql);
            const found = await ask();
            const plain = found.map(({ day, model, keyId, ...row }) => ({
              day,
              model,
              keyId,
              figures: [
                row.requests,
                row.inputTokens,
                row.outputTokens,
                row.images,
                row.cacheReadTokens,
                row.cacheWriteTokens,
                row.cost,
                row.cacheSaved,
              ],
            }));
            expect(plain).toHaveLength(expected(all).length);
            expect(plain).toEqual(expect.arrayContaining(expected(all)));
            const pieces: typeof found = [];
            for (let after = beginningOf('2024-01-01'); ; ) {
              const piece = await ask(after, pieceSize);
              pieces.push(...piece);
              const last = piece.at(-1);
              if (last === undefined) break;
              after = last;
            }
            expect(pieces).toEqual(found);
          }
        },
      ),
      { numRuns: 40 },
    );
    const findings = await auditLedger(database.sql);
    const addedUp = findings.find(({ invariant }) => invariant.startsWith('usage that was added up'));
    expect(addedUp?.checked).toBeGreaterThan(0);
    expect(addedUp?.violations).toBe(0);
  }, 60_000);

  test('nothing is summed up twice by several nodes at once, with requests meanwhile', async () => {
    const { sql } = database;
    const one = (day: number): BilledUsage => ({
      keyId: keyIds[0] ?? '',
      model: 'a',
      billedAt: new Date(Date.UTC(2024, 0, day)),
      inputTokens: 1,
      outputTokens: 2,
      cost: 3n,
    });
    for (let turn = 1; turn <= 10; turn++)
      await Promise.all([
        bill(sql, accountId, [one(turn), one(turn), one(1)]),
        addUpUsage(sql),
        sql`select add_up_usage(${accountId}, 2)`,
        sql`select add_up_usage(${accountId}, 1)`,
      ]);
    await addUpUsage(sql);
    const rows = await ask();
    expect(rows.map(({ requests }) => Number(requests))).toEqual([12, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
    const [{ fresh }] = await sql<[{ fresh: bigint }]>`
      select entry_count - entry_number as fresh from accounts join usage_progress on account_id = id where id = ${accountId}`;
    expect(fresh).toBe(0n);
  });

  test('a gateway sums up what there is when it starts', async () => {
    const { sql, url } = database;
    const [keyId = ''] = keyIds;
    const billedAt = new Date('2024-01-01');
    const usage = { keyId, model: 'a', billedAt, inputTokens: 1, outputTokens: 2, cost: 3n };
    // One more than is summed up at once.
    await bill(
      sql,
      accountId,
      Array.from({ length: 10_001 }, () => usage),
    );
    const isBehind = async () => {
      const rows = await sql`
        select 1 from accounts join usage_progress on account_id = id where id = ${accountId} and entry_number = entry_count`;
      return rows.length === 0;
    };
    expect(await isBehind()).toBe(true);
    const gateway = await startGateway({ DATABASE_URL: url, TOLLGATE_DATA: temporaryFolder() });
    await eventually('the sums', async () => !(await isBehind()));
    expect(await gateway.stop()).toBe(0);
    expect(gateway.output()).not.toContain('not added up');
    expect(await ask()).toMatchObject([{ requests: 10_001n, cost: 30_003n }]);
  }, 60_000);

  test('the audit finds a sum that is wrong, one that is missing, and one of nothing', async () => {
    const { sql } = database;
    const violations = async () =>
      (await auditLedger(sql)).find(({ invariant }) => invariant.startsWith('usage that was added up'))
        ?.violations;
    await bill(sql, accountId, [
      {
        keyId: keyIds[0] ?? '',
        model: 'a',
        billedAt: new Date('2024-01-01'),
        inputTokens: 1,
        outputTokens: 2,
        cost: 3n,
      },
    ]);
    expect(await violations()).toBe(0);
    await addUpUsage(sql);
    expect(await violations()).toBe(0);
    for (const column of ['requests', 'input_tokens', 'output_tokens', 'images']) {
      await sql.unsafe(`update usage_days set ${column} = ${column} + 1 where account_id = '${accountId}'`);
      expect(await violations()).toBe(1);
      await sql.unsafe(`update usage_days set ${column} = ${column} - 1 where account_id = '${accountId}'`);
    }
    await sql`update usage_days set cost = cost + 0.000000000001 where account_id = ${accountId}`;
    expect(await violations()).toBe(1);
    await sql`update usage_days set day = day + 1, cost = cost - 0.000000000001 where account_id = ${accountId}`;
    expect(await violations()).toBe(2);
    await sql`update usage_days set day = day - 1 where account_id = ${accountId}`;
    expect(await violations()).toBe(0);
    await sql`delete from usage_days where account_id = ${accountId}`;
    expect(await violations()).toBe(1);
  });
});
