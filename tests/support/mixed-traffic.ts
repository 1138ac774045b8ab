/**
 * Requests of every outcome through two gateways on one database, as if over several days: some of their minutes are added up,
 * some have changed since, and some are not added up yet.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import type { RequestFigures } from '../../src/console/request-contract.ts';
import { newId } from '../../src/lib/ids.ts';
import { RollUp, rollupLock } from '../../src/rollups/roll-up.ts';
import { addDays, dayOf } from '../../src/usage/days.ts';
import { bill } from './billed-usage.ts';
import { chatCatalog } from './chat-fixture.ts';
import { runCommand } from './commands.ts';
import type { ConsoleFixture, openConsoleFixture } from './console-fixture.ts';
import { eventually } from './eventually.ts';
import { startFakeStripe } from './fake-stripe.ts';
import { type Environment, type Gateway, launchGateway, programWith, temporaryFolder } from './gateway.ts';
import { type HeldProvider, startHeldProvider } from './held-provider.ts';
import { asHolderOf, openLeavingClient } from './leaving-client.ts';
import { addWebhook, giveGrants, pay, readBills, setLimits } from './mixed-records.ts';
import { paymentSettings } from './paid-order.ts';
import { byStep, type Counted, type Group, noRequests, plainFigures } from './plain-figures.ts';
import { dollars, impossible, settleAs } from './rare-settlements.ts';
import { startReceiver } from './webhook-receiver.ts';
import { freePorts } from './workers.ts';

const able = 'capabilities: [text_input, text_output, streaming]';
const priced = `workload: chat, max_output_tokens: 1000, ${able}`;
const price = 'pricing: { billing_type: token, input: "1.000001", output: "2", cache_read: "0.1" }';
const cost = (input: string) =>
  `cost: { billing_type: token, input: "${input}", output: "0.9", cache_read: "0.05" }`;

const catalogWith = (held: HeldProvider) => (url: string) =>
  chatCatalog(url, {
    providers: `  held: { name: Held, adapter: openai, base_url: ${held.behind(url)}/v1, api_key_env: MAIN_KEY, timeouts: { first_byte_ms: 600000 } }`,
    models: `
  held:  { ${priced}, ${price}, providers: [held] }
  known: { ${priced}, ${price}, providers: [{ provider: main, ${cost('0.4')} }] }
  pair:  { ${priced}, ${price}, providers: [{ provider: gone, ${cost('0.5')} }, { provider: backup, ${cost('0.6')} }] }`,
  });

/** Those that are refused under their name. */
const knownModels = ['full', 'plain', 'tiered', 'fallback', 'twofold', 'held', 'known', 'pair', 'picture'];

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** How long ago requests arrived: within all ranges of the pages, and in the periods before those. */
const earlierMs = [8 * 24 * hourMs, 30 * hourMs, 5 * hourMs, 12 * minuteMs];

type Key = Readonly<{ id: string; key: string }>;

/** With or without a browser. */
export type MixedTraffic<Fixture extends ConsoleFixture = ConsoleFixture> = Fixture &
  Readonly<{
    second: Gateway;
    keys: Readonly<Record<'first' | 'other' | 'strangers' | 'poor' | 'slow' | 'limited', Key>>;
    poorAccount: string;
    /** Its balance did not cover what was settled. */
    shortAccount: string;
    /** The request ID of a charge that was partly refunded. */
    refunded: string;
    sql: SQL;
    /** What the dashboard's API answers to the owner about the account, or to the operator. */
    get: <Body>(path: string, reader: Reader) => Promise<Body>;
    /** One more request. */
    ask: (asking: Asking) => Promise<unknown>;
    /** Ranges with requests, that do not change while a test runs. */
    ranges: ReturnType<typeof rangesUpTo>;
    /** By plain SQL. */
    figuresIn: (counted: Counted) => Promise<Group<RequestFigures>[]>;
    /** The same of a whole range. */
    sumIn: (counted: Counted) => Promise<RequestFigures>;
    /** Adds up everything that is over, which nobody does before. */
    addUp: () => Promise<void>;
  }>;

export type Reader = 'owner' | 'operator';

type Asking = Readonly<{
  key: Key;
  content?: string;
  path?: string;
  headers?: Readonly<Record<string, string>>;
  [field: string]: unknown;
}>;

/** Returns the status and the request ID. */
async function ask(origin: string, asking: Asking): Promise<Readonly<{ status: number; id: string }>> {
  const { key, content = '[[usage 10 5]]', path = '/v1/chat/completions', headers = {}, ...body } = asking;
  const response = await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify('prompt' in body ? body : { messages: [{ role: 'user', content }], ...body }),
  });
  await response.text();
  return { status: response.status, id: response.headers.get('x-service-request-id') ?? '' };
}

/** The gateway reads the rest of the answer for a client that has left, so it is short. */
async function leave(origin: string, key: Key): Promise<void> {
  const client = openLeavingClient(origin, '/v1/chat/completions', asHolderOf(key.key), {
    model: 'full',
    messages: [{ role: 'user', content: '[[long 12]] [[chunk-delay 100]]' }],
    stream: true,
  });
  await client.requestId();
  await client.leave();
}

/** Every outcome once, with durations in several buckets. */
async function askAround(origin: string, { first, other, strangers }: MixedTraffic['keys'], node: number) {
  const whose = { 'x-end-user': 'jo', 'x-tags': `team=red, node=${node}` };
  const session = { 'x-claude-code-session-id': 'run-1', 'anthropic-version': '2023-06-01' };
  const expected: readonly (readonly [number, Asking])[] = [
    [200, { key: first, model: 'known', content: `[[usage ${10 + node} 5]] [[delay 60]]`, headers: whose }],
    [
      200,
      { key: first, model: 'known', stream: true, content: '[[usage 900 20]] [[cached 800]] [[delay 90]]' },
    ],
    [
      200,
      { key: other, model: 'known', stream: true, content: '[[long 20]] [[chunk-delay 15]]', headers: whose },
    ],
    [200, { key: other, model: 'pair', content: '[[usage 7 9]] [[delay 150]]' }],
    [200, { key: first, model: 'known', max_tokens: 50, path: '/v1/messages', headers: session }],
    [200, { key: strangers, model: 'full', content: '[[usage 3 4]] [[delay 250]]' }],
    [502, { key: other, model: 'full', content: '[[status 503]]', headers: whose }],
    [502, { key: first, model: 'full', content: '[[status 400]]' }],
    [404, { key: first, model: 'no/such-model', headers: whose }],
    [400, { key: other, model: 'full', temperature: 'hot' }],
  ];
  const asked = expected.map(async ([status, asking]) => {
    const answer = await ask(origin, asking);
    if (answer.status !== status)
      throw new Error(`${JSON.stringify(asking)} was answered with ${answer.status}, not ${status}.`);
  });
  await Promise.all([...asked, leave(origin, first)]);
}

type Customers = Pick<MixedTraffic, 'keys' | 'poorAccount' | 'shortAccount'>;

async function addCustomers(fixture: ConsoleFixture): Promise<Customers> {
  const addKey = (account: string, name: string, ...options: string[]) =>
    runCommand<Key>(['key', 'create', '--account', account, '--name', name, ...options], fixture.environment);
  const { account, strangersAccount } = fixture;
  const { sql } = fixture.database;
  await sql`update accounts set name = 'Northwind' where id = ${account}`;
  await sql`update accounts set name = 'Stranger' where id = ${strangersAccount}`;
  await sql`update api_keys set name = 'First' where id = ${fixture.keyId}`;
  const poor = await fixture.customer('0.02');
  const short = await fixture.customer('1.2');
  await sql`update accounts set name = 'Poor' where id = ${poor.account}`;
  await sql`update accounts set name = 'Short' where id = ${short.account}`;
  const owner = { accountId: short.account, keyId: short.keyId };
  await settleAs(fixture.database, owner, impossible);
  // Its balance covers a part of what it is charged.
  await settleAs(fixture.database, owner, {
    onInsufficientBalance: 'write_off',
    cost: { input: dollars('1'), output: dollars('2'), total: dollars('3'), cached: null },
  });
  return {
    keys: {
      first: { id: fixture.keyId, key: fixture.key },
      other: await addKey(account, 'Other', '--monthly-limit', '5'),
      strangers: await addKey(strangersAccount, 'Strange'),
      poor: { id: poor.keyId, key: poor.key },
      slow: await addKey(account, 'Slow', '--rpm', '1'),
      limited: await addKey(account, 'Limited', '--monthly-limit', '0.0001'),
    },
    poorAccount: poor.account,
    shortAccount: short.account,
  };
}

/** What is not worth more than a few requests: losses, and what limits and the balance refuse. */
async function askForTrouble(
  origin: string,
  { first, poor, slow, limited }: MixedTraffic['keys'],
): Promise<void> {
  const known = { model: 'known', content: '[[usage 900 20]]' };
  await ask(origin, { key: first, model: 'full', stream: true, content: '[[no-usage]]' });
  await ask(origin, { key: first, model: 'full', content: '[[usage 100000 20]]' });
  await ask(origin, {
    key: first,
    path: '/v1/images/generations',
    model: 'picture',
    prompt: 'A house',
    n: 2,
  });
  await ask(origin, { ...known, key: poor });
  const large = { model: 'tiered', max_tokens: 8_000 };
  for (const key of [poor, poor, slow, slow, slow, limited]) await ask(origin, { ...large, key });
}

async function refundPart(fixture: ConsoleFixture, key: Key): Promise<string> {
  const { id } = await ask(fixture.gateway.origin, { key, model: 'known', content: '[[usage 500 30]]' });
  const response = await fixture.people.operator.send(
    'POST',
    `/api/console/operator/generations/${id}/refunds`,
    {
      amount: '0.00012',
      reason: 'Test',
      reference: newId(),
    },
  );
  if (response.status !== 200) throw new Error(`The refund answered ${response.status}.`);
  return id;
}

/**
 * What was charged on earlier days, which no request of today can do. And on this day and the next: midnight may pass between the
 * requests and a test.
 */
async function billEarlier({ strangersAccount, database }: ConsoleFixture, keyId: string): Promise<void> {
  const today = dayOf(new Date());
  const at = (time: string) => ({ billedAt: new Date(time), startedAt: new Date(time) });
  const used = [-1, 0, 1, 8, 40].map((days) => ({
    keyId,
    model: 'known',
    ...at(`${addDays(today, -days)}T10:00:00Z`),
    inputTokens: 10 * (days + 2),
    outputTokens: days + 2,
    cost: 10n ** 10n * BigInt(days + 2),
    provider: 'Main',
    providerCost: 10n ** 9n * BigInt(days + 2),
  }));
  await bill(database.sql, strangersAccount, used);
}

/** All that was asked is stored. */
async function waitForAll(sql: SQL): Promise<void> {
  let last = '';
  await eventually('everything is stored', async () => {
    const [row] = await sql<[{ open: number; counted: string; stored: number }]>`
      select (select count(*)::int from open_generations) as open, (select count(*)::int from refusals) as stored,
             (select coalesce(sum(count), 0)::text from request_minutes where key_id::text like '00000000%'
                and account_id::text not like '00000000%' and status = 'refused') as counted`;
    const now = JSON.stringify(row);
    const isStill = now === last && row.open === 0 && Number(row.counted) === row.stored;
    last = now;
    if (!isStill) await Bun.sleep(1_100);
    return isStill;
  });
}

async function addUpAll(sql: SQL): Promise<void> {
  const rollUp = new RollUp(sql);
  await eventually('everything is added up', async () => {
    await rollUp.run();
    const [row] = await sql<[{ is_done: boolean }]>`
      select rolled_to >= now() - interval '151 seconds' and not exists (select from dirty_minutes) as is_done
      from rollup_progress`;
    return row.is_done;
  });
}

async function get<Body>({ people, account }: ConsoleFixture, path: string, reader: Reader): Promise<Body> {
  const prefix = reader === 'owner' ? `accounts/${account}` : 'operator';
  const response = await people[reader].send('GET', `/api/console/${prefix}/${path}`);
  if (response.status !== 200) throw new Error(`${path}: ${await response.text()}`);
  return (await response.json()) as Body;
}

type Opening<Fixture> = (...options: Parameters<typeof openConsoleFixture>) => Promise<Fixture>;

export async function openMixedTraffic<Fixture extends ConsoleFixture>(
  open: Opening<Fixture>,
): Promise<MixedTraffic<Fixture>> {
  const shiftFile = join(temporaryFolder(), 'shift');
  const arriveEarlier = (ms: number) => writeFileSync(shiftFile, `${ms}`);
  arriveEarlier(0);
  const stripe = startFakeStripe();
  // With payments, the address has to be known before a gateway starts.
  const port = freePorts(1);
  const settings = { ...paymentSettings(stripe), PUBLIC_URL: `http://127.0.0.1:${port}` };
  const start = (environment: Environment, at = 0) =>
    launchGateway(
      { ...environment, ...settings, PORT: `${at}`, ID_SHIFT_FILE: shiftFile },
      { command: [...programWith('earlier-ids.ts'), 'serve'] },
    ).listening;
  const held = startHeldProvider();
  const fixture = await open(catalogWith(held), (environment) => start(environment, port));
  const { sql, url } = fixture.database;
  const second = await start({ ...fixture.environment, TOLLGATE_DATA: temporaryFolder() });
  const nodes = [fixture.gateway, second];
  const customers = await addCustomers(fixture);
  await billEarlier(fixture, customers.keys.strangers.id);
  const receiver = startReceiver();
  await addWebhook(fixture, receiver.url);
  await setLimits(fixture);
  await giveGrants(fixture);
  await pay(fixture, stripe);
  const askAt = async (ms: number) => {
    arriveEarlier(ms);
    await Promise.all(nodes.map(({ origin }, node) => askAround(origin, customers.keys, node)));
  };
  for (const ms of earlierMs) {
    await askAt(ms);
    if (ms < 2 * 24 * hourMs) await ask(second.origin, { key: customers.keys.poor, model: 'known' });
  }
  await waitForAll(sql);
  await addUpAll(sql);

  // From here on nobody adds anything up.
  const adding = new SQL(url, { max: 1 });
  await adding`select pg_advisory_lock(${rollupLock})`;
  // A node counts refusals finely for the two newest hours that it has seen.
  for (const ms of earlierMs.slice(2)) await askAt(ms);
  await askForTrouble(second.origin, customers.keys);
  arriveEarlier(0);
  await askAt(0);
  await askForTrouble(fixture.gateway.origin, customers.keys);
  const refunded = await refundPart(fixture, customers.keys.first);
  await waitForAll(sql);
  await readBills(fixture);
  const inProgress = ask(second.origin, { key: customers.keys.other, model: 'held' });
  await held.holds(1);
  const figuresIn = (counted: Counted) => plainFigures(sql, knownModels, counted);
  return {
    ...fixture,
    ...customers,
    sql,
    get: (path, reader) => get(fixture, path, reader),
    ask: (asking) => ask(second.origin, asking),
    ranges: rangesUpTo(Date.now()),
    figuresIn,
    sumIn: async (counted) => {
      const [sum = noRequests] = byStep(await figuresIn(counted), 1, noRequests);
      return sum;
    },
    second,
    refunded,
    addUp: async () => {
      await adding`select pg_advisory_unlock(${rollupLock})`;
      await addUpAll(sql);
    },
    close: async () => {
      await adding.close();
      held.release();
      await inProgress;
      await second.stop();
      await held.stop();
      await fixture.close();
      await stripe.stop();
      await receiver.stop();
    },
  };
}

/** They are longer than those of the pages by up to an hour. */
function rangesUpTo(nowMs: number) {
  const ending = (unitMs: number, aheadMs: number, lengthMs: number) => {
    const toMs = Math.floor(nowMs / unitMs) * unitMs + aheadMs;
    return { from: new Date(toMs - lengthMs).toISOString(), to: new Date(toMs).toISOString() };
  };
  return {
    recent: ending(minuteMs, 2 * minuteMs, 40 * minuteMs),
    day: ending(hourMs, hourMs, 25 * hourMs),
    week: ending(hourMs, hourMs, 169 * hourMs),
    month: ending(hourMs, hourMs, 721 * hourMs),
  };
}
