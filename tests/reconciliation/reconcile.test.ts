/** `tollgate reconcile` and the daily job, on a real database and against a server that serves reports of costs. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { formatMoney, parseMoney } from '../../src/lib/money.ts';
import { parseCatalog } from '../../src/models/catalog.ts';
import type { Catalog } from '../../src/models/model.ts';
import { reconcileDue } from '../../src/reconciliation/daily.ts';
import { servedQuery, unchargedQuery } from '../../src/reconciliation/metered.ts';
import { addDays, dayOf } from '../../src/usage/days.ts';
import { bill } from '../support/billed-usage.ts';
import { dumpOf } from '../support/chat-fixture.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { outcomeOf, runCommand } from '../support/commands.ts';
import { adminKey, type CostReportServer, startCostReportServer } from '../support/cost-report-server.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, temporaryFolder, writeCatalog } from '../support/gateway.ts';
import { readSamples } from '../support/metrics.ts';

let database: TestDatabase;
let server: CostReportServer;
let environment: Record<string, string>;
let catalog: Catalog;
let account: { id: string; keyId: string };

const usd = (text: string) => parseMoney(text) ?? 0n;
const today = dayOf(new Date());
/** Long enough ago that no provider corrects it any more. */
const [old, older] = [addDays(today, -10), addDays(today, -11)];
const yesterday = addDays(today, -1);

type Day = {
  day: string;
  charged: string;
  metered: string;
  uncharged: string;
  billed: string | null;
  difference: string | null;
  is_within: boolean | null;
  is_preliminary: boolean;
  models: { name: string; kind: string; metered: string; billed: string }[];
  explanations: { kind: string; count: number | null; day: string | null; text: string }[];
};
type Output = { provider: string; source: string; is_within: boolean; days: Day[] };

beforeAll(async () => {
  database = await createDatabase();
  server = startCostReportServer();
  const pricing = '{ billing_type: token, input: "1", output: "2" }';
  const text = `
price_version: "1"
providers:
  acme: { name: Acme Inc, adapter: openai, base_url: ${server.url}/v1, admin_key_env: ACME_ADMIN }
  ant: { adapter: anthropic, base_url: http://127.0.0.1:9/v1, admin_key_env: ANT_ADMIN, cost_report: { base_url: ${server.url} } }
  plain: { adapter: openai, base_url: ${server.url}/v1 }
  exact: { adapter: openai, base_url: ${server.url}/v1, cost_report: { tolerance: { usd: "0", percent: "0" } } }
models:
  house: { workload: chat, pricing: ${pricing}, providers: [{ provider: acme, upstream_model: vendor-1 }, { provider: ant, upstream_model: claude-x-20260901 }] }
`;
  environment = {
    DATABASE_URL: database.url,
    TOLLGATE_DATA: temporaryFolder(),
    TOLLGATE_CATALOG: writeCatalog(text),
    ACME_ADMIN: adminKey,
    ANT_ADMIN: adminKey,
  };
  const parsed = parseCatalog(text, 'catalog.yaml');
  if (!parsed.ok) throw new Error(parsed.problems.join('\n'));
  catalog = parsed.catalog;
  const { id } = await runCommand<{ id: string }>(
    ['account', 'create', '--name', 'A', '--credit', '1000'],
    environment,
  );
  const key = await runCommand<{ id: string }>(['key', 'create', '--account', id], environment);
  account = { id, keyId: key.id };
});

afterAll(async () => {
  await server.stop();
  await database.close();
});

type Served = Readonly<{
  provider: string;
  at: string;
  cost: string;
  providerCost?: string;
  model?: string;
  startedAt?: string;
}>;

async function record(...records: Served[]): Promise<void> {
  await bill(
    database.sql,
    account.id,
    records.map(({ provider, at, cost, providerCost, model = 'house', startedAt = at }) => ({
      keyId: account.keyId,
      model,
      billedAt: new Date(at),
      startedAt: new Date(startedAt),
      inputTokens: 10,
      outputTokens: 5,
      cost: usd(cost),
      provider,
      ...(providerCost === undefined ? {} : { providerCost: usd(providerCost) }),
    })),
  );
}

async function attempt(
  provider: string,
  at: string,
  cost: string | null,
  inputTokens: number | null,
): Promise<void> {
  await database.sql`
    insert into uncharged_attempts (generation_id, index, account_id, model, provider, ended_at, input_tokens, cost,
      price_list_id)
    values (${newId()}, 0, ${account.id}, 'house', ${provider}, ${at}::text::timestamptz, ${inputTokens}::bigint,
      ${cost}::numeric, 1)`;
}

const reconcile = (provider: string, from: string, to: string, ...more: string[]) =>
  runCommand<Output>(['reconcile', '--provider', provider, '--from', from, '--to', to, ...more], environment);

const versionsOf = async (provider: string, day: string) =>
  await database.sql<{ version: number; billed: string }[]>`
    select version, billed from bill_versions where provider = ${provider} and day = ${day}::text::date order by version`;

describe('a bill from the report of costs', () => {
  test('is compared by day and model, exactly, with what no customer was charged for', async () => {
    await record(
      { provider: 'Acme Inc', at: `${older}T10:00:00Z`, cost: '3', providerCost: '1.000000000001' },
      { provider: 'Acme Inc', at: `${older}T23:59:59Z`, cost: '3', providerCost: '0.5' },
      // Of another provider, and of another day.
      { provider: 'plain', at: `${older}T10:00:00Z`, cost: '3', providerCost: '70' },
      { provider: 'Acme Inc', at: `${old}T00:00:00Z`, cost: '2', providerCost: '2' },
    );
    await attempt('Acme Inc', `${older}T12:00:00Z`, '0.25', 100);
    server.lines.push(
      { day: older, model: 'vendor-1-2026-05-01', meter: 'input_tokens', amount: '1.250000000001' },
      { day: older, model: 'vendor-1', meter: 'output_tokens', amount: '0.5', isNumber: true },
      { day: old, model: 'vendor-1', meter: 'output_tokens', amount: '2.5' },
    );
    const { source, is_within: isWithin, days } = await reconcile('acme', older, old);
    expect({ source, isWithin }).toEqual({ source: 'costs', isWithin: false });
    expect(days[0]).toMatchObject({
      day: older,
      charged: '6.000000000000',
      metered: '1.750000000001',
      uncharged: '0.250000000000',
      billed: '1.750000000001',
      difference: '0.000000000000',
      is_within: true,
      is_preliminary: false,
      models: [{ name: 'vendor-1', kind: 'model', metered: '1.750000000001', billed: '1.750000000001' }],
      explanations: [],
    });
    expect(days[1]).toMatchObject({ metered: '2.000000000000', billed: '2.500000000000', is_within: false });
  });

  test('is explained, in the table for people too, which the exit code sums up', async () => {
    await attempt('Acme Inc', `${old}T12:00:00Z`, null, null);
    await attempt('Acme Inc', `${old}T12:00:01Z`, null, 50);
    await record({ provider: 'Acme Inc', at: `${old}T13:00:00Z`, cost: '1' });
    const words = ['reconcile', '--provider', 'acme', '--from', older, '--to', old];
    const { text, exitCode } = await outcomeOf(words, environment);
    expect(exitCode).toBe(1);
    expect(text).toMatch(/Day +Charged +Metered cost +Billed +Difference +Result/);
    expect(text).toContain('DIFFERENT');
    expect(text).toMatch(/Total +9 +3.750000000001 +4.250000000001 +0.5/);
    expect(text).toContain('- 1 call ended without a usage report');
    expect(text).toContain('- The cost of 2 calls is unknown');
    expect(text).not.toContain(adminKey);
  });

  test('may name anything: what the database cannot store is left out, and nothing is stored at full length', async () => {
    const at = addDays(today, -60);
    const whole = `${'x'.repeat(199)}\u{1F600}`;
    const odd = ['\u0000', '\ud800', 'nul\u0000 and half\udc00', whole, '"quoted", {and} \\backslash'];
    const results = odd.map((text) => ({
      amount: { value: '1', currency: 'usd' },
      line_item: `${text}, ${text}`,
      quantity: text.repeat(1_000),
    }));
    const nothing = odd.map((text) => ({ amount: null, line_item: text }));
    const openaiPage = { data: [{ start_time: Date.parse(at) / 1000, results: [...results, ...nothing] }] };
    server.behave({ first: [() => Response.json({ ...openaiPage, has_more: false })] });
    const { days } = await reconcile('acme', at, at);
    expect(days[0]).toMatchObject({ billed: '5.000000000000' });
    const rows = odd.map((text) => ({
      starting_at: `${at}T00:00:00Z`,
      group: { model: text, cost_type: 'tokens', token_type: text.repeat(1_000) },
      cost: { amount: '100', currency: 'USD' },
    }));
    server.behave({ first: [() => Response.json({ data: rows, has_more: false })] });
    expect((await reconcile('ant', at, at)).days[0]).toMatchObject({ billed: '5.000000000000' });
    server.behave({});
    const file = join(temporaryFolder(), 'bill.csv');
    writeFileSync(file, `day,model,amount\n${at},${whole},1\n`);
    expect((await reconcile('plain', at, at, '--file', file)).days[0]).toMatchObject({
      billed: '1.000000000000',
    });
    const [{ longest }] = await database.sql`
      select max(length(line::text)) as longest from bill_versions cross join jsonb_array_elements(lines) as line
      where day = ${at}::text::date`;
    expect(longest).toBeLessThan(1_000);
  });

  test('that changes later is kept in both versions, and one that does not is not stored again', async () => {
    await reconcile('acme', old, old);
    expect(await versionsOf('acme', old)).toHaveLength(1);
    server.lines.push({ day: old, model: 'vendor-1', meter: 'input_tokens', amount: '-0.5' });
    const { days } = await reconcile('acme', old, old);
    expect(days[0]).toMatchObject({ billed: '2.000000000000', is_within: true });
    expect([...(await versionsOf('acme', old))]).toMatchObject([
      { version: 1, billed: '2.500000000000' },
      { version: 2, billed: '2.000000000000' },
    ]);
  });

  test('has requests that ran across midnight, which cancel out with the day before', async () => {
    const [one, other] = [addDays(today, -20), addDays(today, -19)];
    await record(
      { provider: 'ant', at: `${one}T12:00:00Z`, cost: '3', providerCost: '1' },
      {
        provider: 'ant',
        at: `${other}T00:00:40Z`,
        startedAt: `${one}T23:59:58Z`,
        cost: '3',
        providerCost: '2',
      },
    );
    server.lines.push({ day: one, model: 'claude-x', meter: 'output_tokens', amount: '3' });
    const { source, days } = await reconcile('ant', one, other);
    expect(source).toBe('analytics');
    expect(days.map(({ difference }) => difference)).toEqual(['2.000000000000', '-2.000000000000']);
    expect(days.flatMap(({ explanations }) => explanations)).toMatchObject([
      { kind: 'across_midnight', count: 1, day: other },
      { kind: 'across_midnight', count: 1, day: one },
    ]);
    // The day before it is known when the second day is asked for alone.
    expect((await reconcile('ant', other, other)).days[0]?.explanations).toMatchObject([{ day: one }]);
  });

  test('counts a refunded charge once, as a call that nobody was charged for', async () => {
    const day = addDays(today, -25);
    const at = `${day}T12:00:00Z`;
    await record({ provider: 'ant', at, cost: '3', providerCost: '1' });
    await database.sql`update usage_records set refunded_at = now() where billed_at = ${at}::text::timestamptz`;
    await attempt('ant', at, '1', 10);
    server.lines.push({ day, model: 'claude-x', meter: 'output_tokens', amount: '1' });
    const { days } = await reconcile('ant', day, day);
    expect(days[0]).toMatchObject({
      charged: '0.000000000000',
      metered: '1.000000000000',
      uncharged: '1.000000000000',
      is_within: true,
    });
  });

  test('that cannot be read says why, and that is recorded without the key', async () => {
    server.behave({ first: [() => new Response(null, { status: 401 })] });
    expect(await reconcile('acme', old, old).then(String, String)).toContain('rejects the admin key');
    const [run] = await database.sql`
      select error, requested_by, finished_at from reconciliation_runs where error is not null`;
    expect(run).toMatchObject({
      error: expect.stringContaining('(401)'),
      requested_by: expect.stringContaining('@'),
    });
    const kept = JSON.stringify(await database.sql`select runs::text from reconciliation_runs as runs`);
    expect(kept).not.toContain(adminKey);
  });
});

describe('a bill from a file', () => {
  const fileOf = (text: string) => {
    const file = join(temporaryFolder(), 'bill.csv');
    writeFileSync(file, text);
    return file;
  };

  test('is compared like any other, and only for the days that it names', async () => {
    await record({
      provider: 'exact',
      at: `${older}T10:00:00Z`,
      cost: '3',
      providerCost: '1.5',
      model: 'solo',
    });
    const file = fileOf(`day,model,amount,currency\n${older},solo,1.500000000001,USD\n`);
    const { source, days } = await reconcile('exact', older, old, '--file', file);
    expect(source).toBe('file');
    expect(days).toMatchObject([
      { day: older, difference: '0.000000000001', is_within: false },
      { day: old, billed: null, is_within: null },
    ]);
  });

  test.each([
    ['day,amount,currency\n2026-01-01,5,CNY\n', 'the currency is not USD'],
    ['day,amount\n2020-01-01,5\n', 'no line for these days'],
  ])('like %p is refused', async (text, words) => {
    const failed = reconcile('plain', older, old, '--file', fileOf(text));
    expect(await failed.then(String, String)).toContain(words);
  });
});

test.each([
  [['--provider', 'nobody', '--from', old, '--to', old], 'It has: acme, ant, plain, exact'],
  [['--provider', 'plain', '--from', old, '--to', old], 'only be read from a file'],
  [['--provider', 'acme', '--from', '1.1.2026', '--to', old], '--from must be a day'],
  [['--provider', 'acme', '--from', old, '--to', older], 'must not be after'],
  [['--provider', 'acme', '--from', old, '--to', addDays(today, 2)], 'in the future'],
  [['--provider', 'acme', '--from', '2020-01-01', '--to', old], 'At most 366 days'],
  [['--provider', 'acme', '--from', '0000-01-01', '--to', '0000-01-02'], '--from must be a day'],
  [['--provider', 'acme', '--from', '0001-01-01', '--to', '0001-01-02'], '--from must be a day'],
  [['--provider', 'acme', '--from', old, '--to', old, '--file', '/nowhere.csv'], '/nowhere.csv'],
])('reconcile %p says what is wrong', async (words, message) => {
  expect(await runCommand(['reconcile', ...words], environment).then(String, String)).toContain(message);
});

test('a comparison with the cost of two providers, because they have one name, says so', async () => {
  const twins = writeCatalog(`
price_version: "1"
providers:
  east: { name: Twin, adapter: openai, base_url: ${server.url}/v1, admin_key_env: ACME_ADMIN }
  west: { name: Twin, adapter: openai, base_url: ${server.url}/v1 }
  other: { adapter: openai, base_url: ${server.url}/v1, admin_key_env: ACME_ADMIN }
models: {}
`);
  const words = ['--from', old, '--to', old];
  const run = (provider: string) =>
    outcomeOf(['reconcile', '--provider', provider, ...words], { ...environment, TOLLGATE_CATALOG: twins });
  expect((await run('east')).warnings).toEqual([
    'west is named Twin as well, and records have only the name: what it costs is part of the metered cost.',
  ]);
  expect((await run('other')).warnings).toEqual([]);
  const runs = await database.sql`select notes from reconciliation_runs where provider = 'east'`;
  expect(runs[0].notes).toHaveLength(1);
});

test('days whose records were archived cannot be compared, and do not look like a difference', async () => {
  const { sql } = database;
  await sql`
    insert into ledger_archives (id, ends_on, file_name, digest, size_bytes, entry_count, record_count)
    values (${newId()}, ${older}::text::date, 'ledger.gz', sha256('x'), 1, 1, 1)`;
  const refused = await reconcile('acme', addDays(older, -1), old).then(String, String);
  const { days } = await reconcile('acme', older, old);
  await sql`delete from ledger_archives`;
  expect(refused).toContain(`before ${older} were archived`);
  expect(days).toHaveLength(2);
});

describe('by itself', () => {
  const run = async (secrets: Readonly<Record<string, string>>, lines: string[] = []) => {
    const log = createLog('info', (line) => lines.push(line));
    const services = {
      sql: database.sql,
      catalog: () => catalog,
      secret: (name: string) => secrets[name] ?? null,
      log,
    };
    await reconcileDue(services, new AbortController().signal);
    return lines.join('');
  };
  const runsOf = async (provider: string) =>
    (
      await database.sql`select 1 from reconciliation_runs where provider = ${provider} and requested_by is null`
    ).length;

  test('one node reads the bill once a day, of providers whose admin key is set', async () => {
    server.lines.push({ day: yesterday, model: 'vendor-1', meter: 'output_tokens', amount: '0.005' });
    const secrets = { ACME_ADMIN: adminKey };
    await Promise.all([run(secrets), run(secrets), run(secrets)]);
    await run(secrets);
    expect(await runsOf('acme')).toBe(1);
    expect(await runsOf('ant')).toBe(0);
    const [day] = await database.sql`
      select billed, is_within, is_preliminary from reconciled_days
      where provider = 'acme' and day = ${yesterday}::text::date`;
    expect(day).toEqual({ billed: '0.005000000000', is_within: true, is_preliminary: true });
    const [schedule] = await database.sql`
      select next_at > now() as later, next_at < now() + interval '28 hours' as soon, claimed_until
      from reconciliation_schedule where provider = 'acme'`;
    expect(schedule).toEqual({ later: true, soon: true, claimed_until: null });
  });

  test('a failure is logged without the key, and tried again within the hour', async () => {
    const output = await run({ ANT_ADMIN: 'normal' });
    expect(output).toContain('bill not reconciled');
    expect(output).toContain('admin key of the organisation');
    expect(output).not.toContain('normal');
    const [schedule] = await database.sql`
      select next_at < now() + interval '61 minutes' as soon, claimed_until from reconciliation_schedule
      where provider = 'ant'`;
    expect(schedule).toEqual({ soon: true, claimed_until: null });
  });

  test('the claim of a node that died is taken over', async () => {
    const runs = await runsOf('ant');
    await database.sql`
      update reconciliation_schedule set next_at = now() - interval '1 hour', claimed_until = now() + interval '1 minute'
      where provider = 'ant'`;
    await run({ ANT_ADMIN: adminKey });
    expect(await runsOf('ant')).toBe(runs);
    await database.sql`update reconciliation_schedule set claimed_until = now() - interval '1 second'`;
    await run({ ANT_ADMIN: adminKey });
    expect(await runsOf('ant')).toBe(runs + 1);
  });
});

test('a gateway does so when it starts, and keeps the admin key to itself', async () => {
  await database.sql`delete from reconciliation_schedule`;
  await database.sql`delete from reconciled_days`;
  server.requests.length = 0;
  // The newest day that is no longer preliminary.
  server.lines.push({ day: addDays(today, -4), model: 'vendor-1', meter: 'output_tokens', amount: '0.005' });
  const startedAtSeconds = Date.now() / 1000;
  const token = 'metrics-token-of-a-test';
  const gateway = await startGateway({ ...environment, METRICS_TOKEN: token });
  await eventually('both bills', async () => {
    const rows = await database.sql`
      select distinct provider from reconciled_days where billed is not null and day = ${yesterday}::text::date`;
    return rows.length === 2;
  });
  await eventually('both runs', async () => {
    const rows = await database.sql`select 1 from reconciliation_schedule where claimed_until is null`;
    return rows.length === 2;
  });
  const scraped = await fetch(`${gateway.origin}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  const samples = readSamples(await scraped.text());
  const figures = (name: string) =>
    samples
      .filter((sample) => sample.name === `tollgate_reconciliation_${name}`)
      .map(({ labels, value }) => [labels.provider, value] as const);
  expect(figures('difference_usd')).toEqual([
    ['acme', 0.005],
    ['ant', 0.005],
  ]);
  expect(figures('tolerance_usd')).toEqual([
    ['acme', 0.010005],
    ['ant', 0.010005],
  ]);
  const successes = figures('last_success_timestamp_seconds');
  // The other two have no admin key, so nobody expects their bills to be read.
  expect(successes.map(([provider]) => provider)).toEqual(['acme', 'ant']);
  for (const [, at] of successes) expect(at).toBeGreaterThan(startedAtSeconds);
  await gateway.stop();
  expect(gateway.output()).toContain('bill reconciled');
  expect(gateway.output()).not.toContain(adminKey);
  expect(await dumpOf(database)).not.toContain(adminKey);
  expect(JSON.stringify(server.requests)).not.toContain(adminKey);
});

test('what was recorded on a day is found without reading the whole table', async () => {
  const { sql } = database;
  const rows = 60_000;
  const dayMs = 86_400_000;
  await sql`select create_partitions((${today}::text::date - 62), ${today}::text::date)`;
  // Two months, a thousand a day.
  await sql`
    insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, cost,
      price_list_id, month, billed_at, provider, provider_cost)
    select (lpad(to_hex(ms), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, ${account.id}, ${account.keyId},
           'house', 1, 1, 2, 'tokens', 1, 1, '2000-01-01', to_timestamp(ms / 1000.0), 'busy', 0.5
    from (select n, ${Date.parse(today) - 60 * dayMs}::bigint + n * ${(60 * dayMs) / rows}::bigint as ms
          from generate_series(0, ${rows - 1}::bigint) as n) as made`;
  await sql`analyze usage_records`;
  const planOf = async (query: ReturnType<typeof servedQuery>) =>
    JSON.stringify((await sql`explain (analyze, format json, buffers off, timing off) ${query}`)[0]);
  const day = addDays(today, -40);
  const plan = await planOf(servedQuery(sql, 'busy', day, day));
  const read = [...plan.matchAll(/"Actual Rows":\s*([\d.]+)|"Rows Removed by Filter":\s*([\d.]+)/g)].map(
    (match) => Number(match[1] ?? match[2]),
  );
  expect(plan).not.toContain('Seq Scan');
  // Four days of the sixty: a request may have started up to three days before it was settled.
  expect(Math.max(...read)).toBeLessThan(5_000);
  const [found] = await servedQuery(sql, 'busy', day, day);
  expect(found).toMatchObject({ day, cost: formatMoney(usd('500')), charged: formatMoney(usd('1000')) });
  expect(await planOf(unchargedQuery(sql, 'busy', day, day))).toContain('uncharged_attempts');
});
