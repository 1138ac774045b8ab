/**
 * A provider is called while the hold of the request is still being committed. Here a session of our own keeps the account
 * locked, so that a hold is pending for as long as a test needs.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ChatFixture, finishedGeneration, openChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';
import { asHolderOf, openLeavingClient } from '../support/leaving-client.ts';
import { readSamples } from '../support/metrics.ts';
import { delta, type Exchange, startScriptedProvider, usageEvent } from '../support/scripted-provider.ts';

const token = 'metrics-token-for-tests';
const main = startScriptedProvider();
const backup = startScriptedProvider();
let fixture: ChatFixture;
let other: Customer;

type Customer = Awaited<ReturnType<ChatFixture['customer']>>;

const pricing = 'workload: chat, pricing: { billing_type: token, input: "1", output: "2" }';
const cost = 'cost: { billing_type: token, input: "0.5", output: "1" }';
const catalog = () => `
price_version: "2026-11"
providers:
  main:    { name: Main, adapter: openai, base_url: ${main.url}/v1, api_key_env: MAIN_KEY }
  backup:  { name: Backup, adapter: openai, base_url: ${backup.url}/v1, api_key_env: MAIN_KEY }
  careful: { name: Careful, adapter: openai, base_url: ${main.url}/v1, api_key_env: MAIN_KEY, hold_first: true }
models:
  model:   { ${pricing}, max_output_tokens: 100000, providers: [{ provider: main, ${cost} }] }
  twofold: { ${pricing}, providers: [main, backup] }
  careful: { ${pricing}, providers: [careful] }
`;

beforeAll(async () => {
  fixture = await openChatFixture(catalog, (environment) =>
    startGateway({ ...environment, METRICS_TOKEN: token }),
  );
  other = await knownCustomer();
}, 60_000);

afterAll(async () => {
  await fixture.close();
  await Promise.all([main.stop(), backup.stop()]);
});

/** The text tells the requests of this file apart. */
let lastText = 0;
const nextText = () => `text ${++lastText}.`;

type Fields = Readonly<Record<string, unknown>>;
const bodyOf = (text: string, fields: Fields = {}) => ({
  model: 'model',
  messages: [{ role: 'user', content: text }],
  max_tokens: 20,
  ...fields,
});

function send(
  { key }: Customer,
  text: string,
  fields: Fields = {},
  headers: Readonly<Record<string, string>> = {},
  gateway: Gateway = fixture.gateway,
) {
  const given = { ...asHolderOf(key), ...headers };
  return openLeavingClient(gateway.origin, '/v1/chat/completions', given, bodyOf(text, fields));
}

const answer = (text: string) => ({
  choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 },
});

/** Whatever was on its way before has arrived when this returns. */
async function serve(customer: Customer, gateway: Gateway = fixture.gateway): Promise<void> {
  const text = nextText();
  const client = send(customer, text, {}, {}, gateway);
  (await main.received(text)).reply(answer('Hi'));
  expect(await client.until((received) => received.includes('"Hi"'))).toStartWith('HTTP/1.1 200');
  client.socket.destroy();
}

/** One whose account and key the gateway has seen. */
async function knownCustomer(credit = '10'): Promise<Customer> {
  const customer = await fixture.customer(credit, '--rpm', '100000');
  await serve(customer);
  return customer;
}

/** Keeps the account locked while `work` runs, and takes this much of its balance, as a hold of another node would. */
async function whileLocked<Result>(
  { account }: Customer,
  work: () => Promise<Result>,
  taken = '0',
): Promise<Result> {
  const session = await fixture.database.sql.reserve();
  await session.unsafe('begin');
  try {
    await session`select 1 from accounts where id = ${account} for update`;
    await session`
      update accounts set held = held + ${taken}::text::numeric where id = ${account}`;
    return await work();
  } finally {
    await session.unsafe('commit');
    await session.release();
  }
}

async function giveBack({ account }: Customer, taken: string): Promise<void> {
  await fixture.database.sql`
    update accounts set held = held - ${taken}::text::numeric where id = ${account}`;
}

type Waiting = Readonly<{ fields?: Fields; headers?: Readonly<Record<string, string>>; gateway?: Gateway }>;

/** The provider is called only when the account is no longer locked. */
async function expectToWait(
  customer: Customer,
  { fields = {}, headers = {}, gateway = fixture.gateway }: Waiting = {},
): Promise<void> {
  const text = nextText();
  const client = await whileLocked(customer, async () => {
    const waiting = send(customer, text, fields, headers, gateway);
    // The hold waits for the lock, so everything before it has happened.
    await eventually('a hold that waits', async () => {
      const rows = await fixture.database.sql`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return rows.length > 0;
    });
    expect(main.count(text)).toBe(0);
    return waiting;
  });
  (await main.received(text)).reply(answer('Hi'));
  expect(await client.until((all) => all.includes('"Hi"'))).toStartWith('HTTP/1.1 200');
  client.socket.destroy();
}

async function counted(name: string): Promise<number> {
  const response = await fetch(`${fixture.gateway.origin}/metrics`, { headers: asHolderOf(token) });
  const samples = readSamples(await response.text()).filter((sample) => sample.name === name);
  return samples.reduce((sum, { value }) => sum + value, 0);
}

const cancelledCalls = ({ account }: Customer) =>
  fixture.database.sql`
    select model, provider, reason, input_tokens::int, output_tokens::int, cost::text from cancelled_calls
    where account_id = ${account}`;

const lineOf = (requestId: string) =>
  eventually('the line in the log', () =>
    fixture.gateway
      .output()
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
      .find((line) => line.event === 'request' && line.requestId === requestId),
  );

function streamAnswer(exchange: Exchange, text: string): void {
  exchange.send(delta({ content: text }));
  exchange.send(delta({}, 'stop'));
  exchange.send(usageEvent(10, 4));
  exchange.send('[DONE]');
  exchange.end();
}

const answerers = {
  'a stream': {
    fields: { stream: true },
    reply: (exchange: Exchange) => streamAnswer(exchange, 'early word'),
    end: '[DONE]',
  },
  'a JSON response': {
    fields: {},
    reply: (exchange: Exchange) => exchange.reply(answer('early word')),
    end: '"total_tokens"',
  },
};

test.each(Object.entries(answerers))(
  'the provider is called before the hold is committed, and the client gets nothing of %s until then',
  async (_name, { fields, reply, end }) => {
    const customer = await knownCustomer();
    const before = await counted('tollgate_early_calls_total');
    const text = nextText();
    const client = await whileLocked(customer, async () => {
      const waiting = send(customer, text, fields);
      reply(await main.received(text));
      await serve(other);
      await serve(other);
      expect(waiting.received()).toBe('');
      return waiting;
    });
    const received = await client.until((all) => all.includes(end));
    expect(received).toStartWith('HTTP/1.1 200');
    expect(received).toContain('early word');
    const requestId = await client.requestId();
    expect(await finishedGeneration(fixture.gateway.origin, customer.key, requestId)).toMatchObject({
      status: 'completed',
      attempts: [{ provider: 'Main', status: 'succeeded' }],
    });
    expect(await lineOf(requestId)).toMatchObject({ early: 'yes' });
    // Those of the other customer are early, too.
    expect(await counted('tollgate_early_calls_total')).toBe(before + 3);
    expect(await cancelledCalls(customer)).toEqual([]);
    client.socket.destroy();
  },
);

test('a denied hold cancels the call, and its cost is recorded as ours', async () => {
  const customer = await knownCustomer();
  const before = await counted('tollgate_early_calls_cancelled_total');
  const text = nextText();
  let call: Exchange | null = null;
  const client = await whileLocked(
    customer,
    async () => {
      const waiting = send(customer, text, { stream: true });
      call = await main.received(text);
      return waiting;
    },
    '9.9999',
  );
  const received = await client.until((all) => all.includes('insufficient_balance'));
  expect(received).toStartWith('HTTP/1.1 402');
  await eventually('the end of the call', () => call?.isCancelled());
  const [row] = await eventually('the record', async () => {
    const rows = await cancelledCalls(customer);
    return rows.length > 0 && rows;
  });
  expect(row).toEqual({
    model: 'model',
    provider: 'Main',
    reason: 'denied',
    input_tokens: null,
    output_tokens: null,
    cost: null,
  });
  expect(await counted('tollgate_early_calls_cancelled_total')).toBe(before + 1);
  await giveBack(customer, '9.9999');
  client.socket.destroy();
});

test('what a provider reported before the hold was denied is known', async () => {
  const customer = await knownCustomer();
  const text = nextText();
  const client = await whileLocked(
    customer,
    async () => {
      const waiting = send(customer, text);
      (await main.received(text)).reply(answer('Hi'));
      await serve(other);
      await serve(other);
      return waiting;
    },
    '9.9999',
  );
  expect(await client.until((all) => all.includes('insufficient_balance'))).toStartWith('HTTP/1.1 402');
  const [row] = await eventually('the record', async () => {
    const rows = await cancelledCalls(customer);
    return rows.length > 0 && rows;
  });
  // 10 × 0.5 and 4 × 1 USD per million tokens.
  expect(row).toMatchObject({ reason: 'denied', input_tokens: 10, output_tokens: 4, cost: '0.000009000000' });
  const [sums] = await fixture.database.sql`
    select count(*)::int as calls, sum(cost)::text as cost from uncharged_calls where account_id = ${customer.account}`;
  expect(sums).toEqual({ calls: 1, cost: '0.000009000000' });
  await giveBack(customer, '9.9999');
  client.socket.destroy();
});

test('a hold that is not committed in time cancels the call', async () => {
  const customer = await knownCustomer();
  const text = nextText();
  const call = await whileLocked(customer, async () => {
    const client = send(customer, text);
    const received = await main.received(text);
    expect(await client.until((all) => all.includes('balance_lookup_failed'))).toStartWith('HTTP/1.1 500');
    client.socket.destroy();
    return received;
  });
  await eventually('the end of the call', () => call.isCancelled());
  await eventually('the record', async () => (await cancelledCalls(customer))[0]?.reason === 'not_committed');
});

test('a hold that is smaller than expected: the provider is called again, for what is held', async () => {
  const customer = await knownCustomer();
  const text = nextText();
  const client = await whileLocked(
    customer,
    async () => {
      const waiting = send(customer, text, { max_tokens: null });
      expect((await main.received(text)).body).toContain('100000');
      return waiting;
    },
    '9.9',
  );
  const second = await main.received(text);
  expect(second.body).not.toContain('100000');
  second.reply(answer('less'));
  expect(await client.until((all) => all.includes('"less"'))).toStartWith('HTTP/1.1 200');
  const generation = await finishedGeneration(fixture.gateway.origin, customer.key, await client.requestId());
  expect(generation).toMatchObject({ status: 'completed', attempts: [{ status: 'succeeded' }] });
  await eventually('the record', async () => (await cancelledCalls(customer))[0]?.reason === 'smaller_hold');
  await giveBack(customer, '9.9');
  client.socket.destroy();
});

test('a hold that is smaller than expected, for a client that has left: the provider is not called again', async () => {
  const customer = await knownCustomer();
  const text = nextText();
  await whileLocked(
    customer,
    async () => {
      const client = send(customer, text, { max_tokens: null });
      await main.received(text);
      await client.leave();
    },
    '9.9',
  );
  const { sql } = fixture.database;
  const [generation] = await eventually('the end of the Generation', async () => {
    const rows = await sql`
      select id, status, attempt_count::integer as attempts from generations
      where account_id = ${customer.account} and status <> 'completed'`;
    return rows.length > 0 && rows;
  });
  expect(generation.status).toBe('cancelled');
  expect(await sql`select 1 from usage_records where id = ${generation.id}`).toEqual([]);
  expect(main.count(text)).toBe(1);
  await eventually('the record', async () => (await cancelledCalls(customer))[0]?.reason === 'smaller_hold');
  await giveBack(customer, '9.9');
});

test('a provider with hold_first, and a request with an idempotency key, wait for the hold', async () => {
  const customer = await knownCustomer();
  await expectToWait(customer, { fields: { model: 'careful' } });
  await expectToWait(customer, { headers: { 'idempotency-key': 'once' } });
});

test('with EARLY_CALLS=off every call waits for its hold', async () => {
  const gateway = await startGateway({
    ...fixture.environment,
    TOLLGATE_DATA: temporaryFolder(),
    EARLY_CALLS: 'off',
  });
  const customer = await knownCustomer();
  await serve(customer, gateway);
  await expectToWait(customer, { gateway });
  await gateway.stop();
});

test('an account has 32 early calls at most', async () => {
  const customer = await knownCustomer();
  const text = nextText();
  const clients = await whileLocked(customer, async () => {
    const waiting = Array.from({ length: 33 }, () => send(customer, text));
    await eventually('32 calls', () => main.count(text) >= 32);
    await serve(other);
    expect(main.count(text)).toBe(32);
    return waiting;
  });
  for (const _client of clients) (await main.received(text)).reply(answer('Hi'));
  for (const client of clients) {
    expect(await client.until((all) => all.includes('"Hi"'))).toStartWith('HTTP/1.1 200');
    client.socket.destroy();
  }
  // The slots are free again.
  const another = nextText();
  const client = await whileLocked(customer, async () => {
    const waiting = send(customer, another);
    (await main.received(another)).reply(answer('Hi'));
    return waiting;
  });
  expect(await client.until((all) => all.includes('"Hi"'))).toStartWith('HTTP/1.1 200');
  client.socket.destroy();
});

test('an early call that fails is followed by the next provider once the hold is committed', async () => {
  const customer = await knownCustomer();
  const text = nextText();
  const client = await whileLocked(customer, async () => {
    const waiting = send(customer, text, { model: 'twofold' });
    (await main.received(text)).open(503);
    await serve(other);
    await serve(other);
    expect(backup.count(text)).toBe(0);
    expect(waiting.received()).toBe('');
    return waiting;
  });
  (await backup.received(text)).reply(answer('Hi'));
  expect(await client.until((all) => all.includes('"Hi"'))).toStartWith('HTTP/1.1 200');
  const generation = await finishedGeneration(fixture.gateway.origin, customer.key, await client.requestId());
  expect(generation.attempts).toMatchObject([
    { provider: 'Main', status: 'failed', upstream_status: 503 },
    { provider: 'Backup', status: 'succeeded' },
  ]);
  client.socket.destroy();
});

test('a client that leaves while its hold is pending is charged, so that leaving does not make calls free', async () => {
  const customer = await knownCustomer();
  const text = nextText();
  const call = await whileLocked(customer, async () => {
    const client = send(customer, text);
    const received = await main.received(text);
    await client.leave();
    return received;
  });
  call.reply(answer('Hi'));
  const { sql } = fixture.database;
  const [generation] = await eventually('the end of the Generation', async () => {
    const rows = await sql`
      select id, status from generations where account_id = ${customer.account} and status <> 'completed'`;
    return rows.length > 0 && rows;
  });
  expect(generation.status).toBe('cancelled');
  expect(await sql`select 1 from usage_records where id = ${generation.id}`).toHaveLength(1);
  expect(await cancelledCalls(customer)).toEqual([]);
});
