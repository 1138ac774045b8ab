/** Deliveries by two nodes at once: what fails is tried again, and holds up nobody else. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { Webhook } from 'standardwebhooks';
import { createAccount } from '../../src/accounts/account-store.ts';
import { publishEvents } from '../../src/events/publish.ts';
import { newId } from '../../src/lib/ids.ts';
import { parseNetwork } from '../../src/lib/ip-address.ts';
import { createLog } from '../../src/lib/log.ts';
import { keepDelivering } from '../../src/webhooks/deliver.ts';
import { claimEndpoints, type EndpointGroup, releaseEndpoint } from '../../src/webhooks/delivery-store.ts';
import {
  changeEndpointAs,
  createEndpointAs,
  requireEndpoint,
  rotateSecretAs,
  sendTest,
} from '../../src/webhooks/endpoint-store.ts';
import { replay } from '../../src/webhooks/replay.ts';
import { encryptSecret } from '../../src/webhooks/stored-secret.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type Received, type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const actor = { door: 'cli', shellUser: 'test@test' } as const;
const encryptionKey = Buffer.alloc(32, 7);
const log = createLog('error', () => undefined);

let database: TestDatabase;
let second: SQL;
let stops: (() => Promise<void>)[] = [];
const receivers: Receiver[] = [];
const unprovenOfOperator: EndpointGroup = { isOperators: true, standing: 'unproven' };
const unprovenOfCustomers: EndpointGroup = { isOperators: false, standing: 'unproven' };

beforeAll(async () => {
  database = await createDatabase();
  second = new SQL(database.url, { max: 4, bigint: true });
});

afterEach(async () => {
  for (const stop of stops) await stop();
  stops = [];
});

afterAll(async () => {
  for (const receiver of receivers) await receiver.stop();
  await second.close({ timeout: 1 });
  await database.close();
});

function startNodes(networks = ['127.0.0.0/8']): void {
  for (const sql of [database.sql, second])
    stops.push(
      keepDelivering({
        sql,
        nodeId: newId(),
        encryptionKey,
        networks: networks.map((text) => parseNetwork(text)).filter((one) => one !== null),
        resolve: async () => ['127.0.0.1'],
        log,
      }),
    );
}

function receiver(
  answer?: (one: Received) => Response | Promise<Response>,
  hostname = '127.0.0.1',
): Receiver {
  const started = startReceiver(answer, { hostname });
  receivers.push(started);
  return started;
}

/** One of the operator, or with an account one of its owners. */
async function endpoint(
  url: string,
  accountId: string | null = null,
  types: string[] | null = ['key.created'],
) {
  const created = await database.sql.begin((transaction) =>
    createEndpointAs(transaction, actor, { accountId }, { url, description: '', types }, encryptionKey),
  );
  return { ...created, accountId };
}

/** Events of an account, all at once. */
async function happen(accountId: string, count: number, type = 'key.created'): Promise<void> {
  await database.sql`
    insert into events (account_id, type, data)
    select ${accountId}, ${type}, jsonb_build_object('place', place) from generate_series(1, ${count}) as place`;
  await publishEvents(database.sql);
}

async function account(): Promise<string> {
  return (await createAccount(database.sql, 'Test', 0n)).id;
}

type Row = {
  state: string;
  attempts: number;
  status: number | null;
  problem: string | null;
  wait: number | null;
};

async function rowsOf(id: string): Promise<Row[]> {
  return await database.sql<Row[]>`
    select state, attempts, status, problem, extract(epoch from next_at - now())::float8 as wait
    from webhook_deliveries where endpoint_id = ${id} order by id`;
}

/** What is due later is due now, and nobody has a claim. */
async function hurry(id: string): Promise<void> {
  await database.sql`update webhook_deliveries set next_at = now() where endpoint_id = ${id} and state = 'pending'`;
  await database.sql`update webhook_endpoints set due_at = now() where id = ${id} and claimed_by is null`;
}

test('two nodes send each event once, with a few of them at a time', async () => {
  let open = 0;
  let most = 0;
  const server = receiver(async () => {
    open += 1;
    most = Math.max(most, open);
    await Bun.sleep(20);
    open -= 1;
    return new Response();
  });
  const { id } = await endpoint(server.url);
  startNodes();
  await happen(await account(), 150);
  await eventually('all deliveries', async () =>
    (await rowsOf(id)).every(({ state }) => state === 'delivered'),
  );
  expect(new Set(server.received.map(({ headers }) => headers['webhook-id'])).size).toBe(150);
  expect(server.received).toHaveLength(150);
  expect(most).toBeLessThanOrEqual(8);
});

test('a failure is tried again with the same ID and a new signature, when the receiver wants it', async () => {
  let status = 503;
  const server = receiver(() => new Response(null, { status, headers: { 'retry-after': '100' } }));
  const { id, secret } = await endpoint(server.url);
  startNodes();
  await happen(await account(), 1);
  const [failed] = await eventually('an attempt', async () => {
    const rows = await rowsOf(id);
    return rows[0]?.attempts === 1 && rows;
  });
  expect(failed).toMatchObject({ state: 'pending', status: 503 });
  expect(failed?.wait).toBeGreaterThan(90);
  // It asked for a pause, and what happens meanwhile has to wait, too.
  await happen(await account(), 1);
  await eventually('the end of the turn, and then a pause', async () => {
    const [found] = await database.sql`
      select 1 from webhook_endpoints where id = ${id} and claimed_by is null and due_at > now() + interval '90 seconds'`;
    return found !== undefined;
  });
  await database.sql`delete from webhook_deliveries where endpoint_id = ${id} and attempts = 0`;
  status = 302;
  await eventually('a second attempt', async () => {
    await hurry(id);
    return (await rowsOf(id))[0]?.attempts === 2;
  });
  status = 204;
  await eventually('success', async () => {
    await hurry(id);
    return (await rowsOf(id))[0]?.state === 'delivered';
  });
  const ids = server.received.map(({ headers }) => headers['webhook-id']);
  expect([ids.length, new Set(ids).size]).toEqual([3, 1]);
  for (const { text, headers } of server.received) new Webhook(secret).verify(text, headers);
});

test('endpoints that do not answer hold up neither each other nor those that do', async () => {
  const accountId = await account();
  const silent = receiver(() => new Promise(() => undefined));
  const quick = receiver();
  const bad = [];
  for (let place = 0; place < 10; place += 1) bad.push(await endpoint(silent.url));
  const good = await endpoint(quick.url);
  startNodes();
  await happen(accountId, 3);
  await eventually('the good one', async () =>
    (await rowsOf(good.id)).every(({ state }) => state === 'delivered'),
  );
  // One that has never been reached gets one turn, with what fits in it, and the others theirs.
  await eventually('a turn for each', () => silent.received.length >= 10);
  expect(silent.received).toHaveLength(10);
  for (const { id } of bad) {
    expect((await rowsOf(id)).map(({ state }) => state)).toEqual(['pending', 'pending', 'pending']);
    await database.sql`delete from webhook_endpoints where id = ${id}`;
  }
});

test('ten thousand endpoints that do not answer keep nobody else waiting', async () => {
  const silent = receiver(() => new Promise(() => undefined), '0.0.0.0');
  const port = new URL(silent.url).port;
  const quick = receiver(undefined, '127.0.0.2');
  const ownerId = await account();
  const prompt = await endpoint(quick.url, ownerId);
  await database.sql`update webhook_endpoints set is_prompt = true where id = ${prompt.id}`;
  // At as many addresses, of a thousand accounts.
  const ids = Array.from({ length: 10_000 }, () => newId());
  const secrets = ids.map((id) => encryptSecret(Buffer.alloc(32), encryptionKey, id).toString('hex'));
  const urls = ids.map((_, place) => `http://127.1.${place >> 8}.${place & 255}:${port}/events`);
  await database.sql`
    with account as (
      insert into accounts (id, name) select gen_random_uuid(), 'Silent' from generate_series(1, 1000) returning id
    ), told as (
      insert into events (account_id, type, data) select id, 'key.created', '{}' from account
    ), placed as (select id, row_number() over () - 1 as place from account)
    insert into webhook_endpoints (id, account_id, url, types, secret)
    select given.id, placed.id, url, '{key.created}', decode(secret, 'hex')
    from unnest(${database.sql.array(ids, 'uuid')}, ${database.sql.array(urls, 'text')}, ${database.sql.array(secrets, 'text')})
      with ordinality as given (id, url, secret, number) join placed on place = number % 1000`;
  await publishEvents(database.sql);
  startNodes();
  await eventually('their slots to be taken', () => silent.received.length >= 64);
  const operators = await endpoint(quick.url);
  await happen(ownerId, 1);
  for (const { id } of [prompt, operators])
    await eventually('the delivery', async () => (await rowsOf(id))[0]?.state === 'delivered');
  // Of each node: two that look at the same moment do not see each other's claims.
  const busy = await database.sql<{ claimed: number }[]>`
    select count(*)::int as claimed from webhook_endpoints where claimed_until > now() and url like 'http://127.1.%'
    group by account_id, claimed_by`;
  expect(Math.max(...busy.map(({ claimed }) => claimed))).toBeLessThanOrEqual(2);
  expect(silent.received.length).toBeLessThan(1_000);
  for (const stop of stops) await stop();
  stops = [];
  await database.sql`delete from webhook_endpoints where url like 'http://127.1.%'`;
});

test('endpoints take turns, those of an account too, however much one has to send', async () => {
  const node = newId();
  const claim = async (group: EndpointGroup, count: number) =>
    (await claimEndpoints(database.sql, node, group, count)).map(({ id }) => id);
  const release = (id: string, pauseMs: number) =>
    releaseEndpoint(database.sql, node, id, { failingPauseMs: 0, pauseMs });
  await database.sql`delete from webhook_endpoints`;
  const busy = await endpoint('http://127.0.0.1:1/', null, ['key.created']);
  await happen(await account(), 30);
  const other = await endpoint('http://127.0.0.1:1/', null, ['key.created']);
  await happen(await account(), 1);
  const claimed: string[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    const [id = ''] = await claim(unprovenOfOperator, 1);
    claimed.push(id);
    await release(id, 0);
  }
  expect(claimed).toEqual([busy.id, other.id, busy.id, other.id]);

  const many = await account();
  const few = await account();
  const ofMany: string[] = [];
  for (let place = 0; place < 5; place += 1) ofMany.push((await endpoint('https://a.test/', many)).id);
  const { id: ofFew } = await endpoint('https://a.test/', few);
  await happen(many, 2);
  await happen(few, 1);
  const first = await claim(unprovenOfCustomers, 10);
  expect(first).toHaveLength(3);
  expect(first).toContain(ofFew);
  expect(await claim(unprovenOfCustomers, 10)).toEqual([]);
  const [one = ''] = first.filter((id) => ofMany.includes(id));
  await release(one, 60_000);
  // It rests, also when something happens.
  await happen(many, 1);
  const [next = '', ...more] = await claim(unprovenOfCustomers, 10);
  expect(more).toEqual([]);
  expect(first).not.toContain(next);
  await database.sql`delete from webhook_endpoints`;
});

test('a range is replayed little by little, and not again before it is over', async () => {
  const server = receiver();
  const own = await account();
  const mine = await endpoint(server.url, null, ['key.revoked']);
  await database.sql`update webhook_endpoints set disabled_at = now(), disabled_because = 'owner' where id = ${mine.id}`;
  await happen(own, 250, 'key.revoked');
  await database.sql`update webhook_endpoints set disabled_at = null, disabled_because = null where id = ${mine.id}`;
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) };
  const again = () => database.sql.begin((transaction) => replay(transaction, mine, range));
  expect(await again()).toBe(250);
  expect(await rowsOf(mine.id)).toEqual([]);
  const refusal = async () => await again().catch((error: { code: string }) => error.code);
  expect(await refusal()).toBe('too_many_attempts');
  await database.sql`update webhook_replays set asked_at = now() - interval '2 minutes' where endpoint_id = ${mine.id}`;
  expect(await refusal()).toBe('too_many_attempts');
  let most = 0;
  startNodes();
  await eventually('all of them', async () => {
    const rows = await rowsOf(mine.id);
    most = Math.max(most, rows.filter(({ state }) => state === 'pending').length);
    return rows.filter(({ state }) => state === 'delivered').length === 250;
  });
  // The next ones come when there are fewer left than a turn has.
  expect(most).toBeLessThan(164);
  expect(server.received).toHaveLength(250);
  expect(new Set(server.received.map(({ body }) => body.id)).size).toBe(250);
  expect(await again()).toBe(250);
  expect(await refusal()).toBe('too_many_attempts');
  // Whoever disables it has no use for the rest.
  await database.sql.begin((transaction) => changeEndpointAs(transaction, actor, mine, { isEnabled: false }));
  expect(await database.sql`select 1 from webhook_replays where endpoint_id = ${mine.id}`).toHaveLength(0);
});

test('an attempt that cannot be recorded does not end the turn of the others', async () => {
  const { sql } = database;
  const held = Promise.withResolvers<void>();
  const own = await account();
  const server = receiver(async ({ body }) => {
    if (body.data.place === 2) await held.promise;
    return new Response();
  });
  const { id } = await endpoint(server.url, own);
  await sql`update webhook_endpoints set is_prompt = true where id = ${id}`;
  await sql`create sequence refused_inserts`;
  await sql.unsafe(`
    create function refuse_once() returns trigger language plpgsql as $$ begin
      if (select data ->> 'place' = '1' from events where id = new.event_id) and nextval('refused_inserts') = 1
        then raise 'not recorded'; end if;
      return new;
    end $$`);
  await sql`create trigger refuse_once before update on webhook_deliveries for each row execute function refuse_once()`;
  await happen(own, 3);
  startNodes();
  const refusals = async () => await sql<[{ is_called: boolean }]>`select is_called from refused_inserts`;
  await eventually('both requests, and a refusal', async () => {
    const [{ is_called: isRefused }] = await refusals();
    return isRefused && server.received.length === 2;
  });
  for (let count = 0; count < 30; count += 1) {
    const [row] = await sql<{ is_claimed: boolean }[]>`
      select claimed_by is not null as is_claimed from webhook_endpoints where id = ${id}`;
    expect(row?.is_claimed).toBe(true);
  }
  // Nothing new is begun either.
  expect(server.received).toHaveLength(2);
  held.resolve();
  await eventually('all of them', async () => (await rowsOf(id)).every(({ state }) => state === 'delivered'));
  expect(server.received.map(({ body }) => body.data.place).toSorted()).toEqual([1, 1, 2, 3]);
  await sql`drop trigger refuse_once on webhook_deliveries`;
});

test('many endpoints at one address get little at once, whatever its names, and delay only one another', async () => {
  let open = 0;
  let most = 0;
  const held = Promise.withResolvers<void>();
  const crowded = receiver(async () => {
    open += 1;
    most = Math.max(most, open);
    await held.promise;
    open -= 1;
    return new Response();
  });
  const alone = receiver(undefined, '127.0.0.2');
  const ids: string[] = [];
  for (let place = 0; place < 40; place += 1) {
    const accountId = await account();
    const name = place % 2 === 0 ? '127.0.0.1' : 'other.test';
    ids.push((await endpoint(crowded.url.replace('127.0.0.1', name), accountId)).id);
    await happen(accountId, 2);
  }
  startNodes(['127.0.0.0/8', '::1/128']);
  // Eight of a node; the other one may find none that it could send.
  await eventually('as many as may be', () => open >= 8);
  const other = await account();
  const { id } = await endpoint(alone.url, other);
  await happen(other, 1);
  await eventually('the other', async () => (await rowsOf(id))[0]?.state === 'delivered');
  // They occupy nothing, and nothing has failed.
  const waiting = async () =>
    await database.sql`
      select 1 from webhook_endpoints
      where id = any (${database.sql.array(ids, 'uuid')}) and claimed_by is null and failing_since is null`;
  await eventually('those that wait', async () => (await waiting()).length >= 20);
  expect(most).toBeLessThanOrEqual(16);
  held.resolve();
  for (const one of ids)
    await eventually('all of them', async () =>
      (await rowsOf(one)).every(({ state }) => state === 'delivered'),
    );
  expect(new Set(crowded.received.map(({ headers }) => headers['webhook-id'])).size).toBe(80);
  expect(crowded.received).toHaveLength(80);
  expect(most).toBeLessThanOrEqual(16);
});

/** Why it was disabled, as often as that was told. */
async function toldOf(id: string): Promise<string[]> {
  const events = await database.sql<{ because: string }[]>`
    select data ->> 'because' as because from events where type = 'webhook.disabled' and data ->> 'endpoint_id' = ${id}`;
  return events.map(({ because }) => because);
}

test('410 ends an endpoint, and three days of failures do, and someone is told once', async () => {
  const gone = receiver(() => new Response(null, { status: 410 }));
  const failing = receiver(() => new Response(null, { status: 500 }));
  const first = await endpoint(gone.url);
  const other = await endpoint(failing.url);
  startNodes();
  await happen(await account(), 2);
  await eventually('gone', async () => (await toldOf(first.id)).includes('gone'));
  await eventually('an attempt', async () => (await rowsOf(other.id)).some(({ attempts }) => attempts > 0));
  await database.sql`update webhook_deliveries set attempts = 9 where endpoint_id = ${other.id} and attempts > 0`;
  await eventually('failing', async () => {
    await hurry(other.id);
    return (await toldOf(other.id)).includes('failing');
  });
  // One that gets so much that no delivery comes to its last attempt.
  const swamped = await endpoint(failing.url);
  await happen(await account(), 1);
  await eventually('an attempt', async () => (await rowsOf(swamped.id))[0]?.attempts === 1);
  await database.sql`update webhook_endpoints set failing_since = now() - interval '77 hours' where id = ${swamped.id}`;
  await eventually('swamped', async () => {
    await hurry(swamped.id);
    return (await toldOf(swamped.id)).includes('failing');
  });
  expect((await rowsOf(swamped.id))[0]?.attempts).toBe(2);
  expect([await toldOf(first.id), await toldOf(other.id)]).toEqual([['gone'], ['failing']]);
  const stored = await requireEndpoint(database.sql, other);
  expect(stored).toMatchObject({ disabled_because: 'failing' });
  const attempted = failing.received.length;
  await happen(await account(), 1);
  expect((await rowsOf(other.id)).filter(({ state }) => state === 'pending').length).toBeLessThan(2);
  expect(failing.received).toHaveLength(attempted);
});

test('what a dead node had claimed is sent by another one', async () => {
  const server = receiver();
  const { id } = await endpoint(server.url);
  await happen(await account(), 1);
  const claimed = await claimEndpoints(database.sql, newId(), unprovenOfOperator, 100);
  expect(claimed.map((one) => one.id)).toContain(id);
  startNodes();
  const other = await endpoint(server.url);
  await happen(await account(), 1);
  await eventually('the other', async () => (await rowsOf(other.id))[0]?.state === 'delivered');
  expect((await rowsOf(id)).map(({ attempts }) => attempts)).toEqual([0, 0]);
  await database.sql`update webhook_endpoints set claimed_until = now() where id = ${id}`;
  await eventually('the claimed ones', async () =>
    (await rowsOf(id)).every(({ state }) => state === 'delivered'),
  );
});

test('a customer gets events of the own account, from public addresses only, and none of the operator', async () => {
  const server = receiver();
  const own = await account();
  const { id } = await endpoint(server.url, own, null);
  startNodes(['127.0.0.9/32']);
  await happen(await account(), 1);
  await database.sql`insert into events (type, data) values ('node.lost', '{}')`;
  await happen(own, 1);
  const [refused] = await eventually('an attempt', async () => {
    const rows = await rowsOf(id);
    return rows[0]?.attempts === 1 && rows;
  });
  expect(refused).toMatchObject({ state: 'pending', status: null, problem: 'unreachable' });
  expect(await rowsOf(id)).toHaveLength(1);
  expect(server.received).toEqual([]);
});

test('a test goes to one endpoint; one delivery or a range is sent again; both secrets sign while they change', async () => {
  const server = receiver();
  const own = await account();
  const mine = await endpoint(server.url, own, ['key.created']);
  startNodes();
  await database.sql.begin((transaction) => sendTest(transaction, mine));
  await happen(own, 2);
  await eventually('three deliveries', async () => {
    const rows = await rowsOf(mine.id);
    return rows.length === 3 && rows.every(({ state }) => state === 'delivered');
  });
  const newer = await database.sql.begin((transaction) =>
    rotateSecretAs(transaction, actor, mine, encryptionKey),
  );
  const [{ id: deliveryId }] = await database.sql<[{ id: string }]>`
    select id from webhook_deliveries where endpoint_id = ${mine.id} order by id limit 1`;
  await database.sql.begin((transaction) => replay(transaction, mine, { deliveryId }));
  const again = await eventually('the replay', () => server.received[3]);
  for (const secret of [mine.secret, newer]) new Webhook(secret).verify(again.text, again.headers);
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) };
  expect(await database.sql.begin((transaction) => replay(transaction, mine, range))).toBe(2);
  await eventually('the range', () => server.received.length === 6);
  expect(new Set(server.received.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
  const tests = [];
  for (let count = 0; count < 12; count += 1)
    tests.push(
      await database.sql
        .begin((transaction) => sendTest(transaction, mine))
        .catch((error: { code: string }) => error.code),
    );
  expect(tests.slice(8)).toEqual([
    expect.any(String),
    'too_many_attempts',
    'too_many_attempts',
    'too_many_attempts',
  ]);
  await database.sql.begin((transaction) => changeEndpointAs(transaction, actor, mine, { isEnabled: false }));
  const refused = database.sql.begin((transaction) => replay(transaction, mine, range));
  expect(await refused.catch((error: { code: string }) => error.code)).toBe('webhook_disabled');
});
