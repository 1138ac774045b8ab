/** Idempotent requests: run once and replayed, across nodes, crashes and all kinds of failures. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { deleteExpired } from '../../src/idempotency/claim-store.ts';
import { defaultLimit } from '../../src/idempotency/storage-limit.ts';
import {
  type ChatFixture,
  chatCatalog,
  type ErrorBody,
  eventsOf,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, temporaryFolder } from '../support/gateway.ts';
import { heldModel, startHeldProvider } from '../support/held-provider.ts';
import { asHolderOf, openLeavingClient } from '../support/leaving-client.ts';
import { startQuickGateway } from '../support/quick-lease.ts';

const held = startHeldProvider();

let fixture: ChatFixture;
let other: Gateway;
let key: string;
let keyId: string;
let account: string;

beforeAll(async () => {
  fixture = await openChatFixture((url) => chatCatalog(url, heldModel(held, url)), startQuickGateway);
  fixture.canaries.add('kept-canary');
  other = await startAnother();
  ({ key, keyId, account } = await fixture.customer('100', '--rpm', '1000000'));
});

afterAll(async () => {
  await other.stop();
  await fixture.close();
  await held.stop();
});

/** Another node, in addition to that of the fixture. */
function startAnother(): Promise<Gateway> {
  return startQuickGateway({ ...fixture.environment, TOLLGATE_DATA: temporaryFolder() });
}

let names = 0;
function newName(): string {
  names += 1;
  return `name-${names}`;
}

type Options = { origin?: string; key?: string; more?: object };

function chat(name: string | null, content: string, options: Options = {}): Promise<Response> {
  return fetch(`${options.origin ?? fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${options.key ?? key}`,
      'content-type': 'application/json',
      ...(name === null ? {} : { 'idempotency-key': name }),
    },
    body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content }], ...options.more }),
  });
}

/** What two responses must have in common. */
async function bytesOf(response: Response) {
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    id: response.headers.get('x-service-request-id'),
    text: await response.text(),
  };
}

function callsWith(text: string): number {
  return fixture.sandbox.entries.filter(({ body }) => JSON.stringify(body).includes(text)).length;
}

async function chargesOf(id = account): Promise<number> {
  const [row] = await fixture.database.sql`
    select count(*)::int as count from ledger_entries where account_id = ${id} and kind = 'charge'`;
  return row.count;
}

/** How many requests of a key have a row, with a response or not. */
async function storedFor(id: string): Promise<number> {
  const [row] = await fixture.database.sql`
    select count(*)::int as count from idempotent_requests where key_id = ${id} and expires_at > now()`;
  return row.count;
}

async function topUp(id: string): Promise<void> {
  await runCommand(['account', 'credit', id, '1'], fixture.environment);
}

describe('the same idempotency key and body', () => {
  test.each([
    ['whole', {}],
    ['streamed', { stream: true }],
    ['streamed with usage', { stream: true, stream_options: { include_usage: true } }],
  ])(
    '%s: the first answer again, byte for byte, on this node and another, charged once',
    async (what, more) => {
      const name = newName();
      const content = `kept-canary ${what} once`;
      const before = await chargesOf();
      const first = await chat(name, content, { more });
      expect(first.headers.get('idempotent-replayed')).toBeNull();
      const bytes = await bytesOf(first);
      for (const origin of [fixture.gateway.origin, other.origin]) {
        const again = await chat(name, content, { more, origin });
        expect(again.headers.get('idempotent-replayed')).toBe('true');
        expect(again.headers.get('x-request-id')).toBe(bytes.id);
        expect(await bytesOf(again)).toEqual(bytes);
      }
      expect(callsWith(content)).toBe(1);
      expect((await chargesOf()) - before).toBe(1);
    },
  );

  test('while the first is in progress, others wait for it, on both nodes', async () => {
    const name = newName();
    const content = '[[delay 400]] single flight';
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        chat(name, content, { origin: index % 2 === 0 ? fixture.gateway.origin : other.origin }),
      ),
    );
    const replayed = answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true');
    const bytes = await Promise.all(answers.map(bytesOf));
    expect(new Set(bytes.map(({ text }) => text)).size).toBe(1);
    expect(replayed).toHaveLength(9);
    expect(callsWith(content)).toBe(1);
  });

  test('a client that left gets the whole response when it comes back', async () => {
    const name = newName();
    const content = '[[chunk-delay 100]] one two three four five six seven';
    const client = openLeavingClient(
      fixture.gateway.origin,
      '/v1/chat/completions',
      { ...asHolderOf(key), 'idempotency-key': name },
      { model: 'full', messages: [{ role: 'user', content }], stream: true },
    );
    await client.until((received) => received.includes('data: '));
    await client.leave();
    const again = await chat(name, content, { more: { stream: true } });
    const events = eventsOf(await again.text());
    expect(events.at(-1)).toBe('[DONE]');
    expect(events.join('')).toContain('seven');
    expect(callsWith(content)).toBe(1);
    const id = again.headers.get('x-service-request-id') ?? '';
    expect(await finishedGeneration(fixture.gateway.origin, key, id)).toMatchObject({
      status: 'cancelled',
      attempts: [{ status: 'succeeded' }],
    });
  });

  test('spaces and the order of fields do not matter', async () => {
    const name = newName();
    await chat(name, 'in any order');
    const reordered = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': name,
      },
      body: JSON.stringify({ messages: [{ content: 'in any order', role: 'user' }], model: 'full' }, null, 2),
    });
    expect(reordered.headers.get('idempotent-replayed')).toBe('true');
  });

  test('an idempotency key belongs to its API key: another one of the account has its own', async () => {
    const name = newName();
    const { key: another } = await runCommand<{ key: string }>(
      ['key', 'create', '--account', account],
      fixture.environment,
    );
    const first = await bytesOf(await chat(name, 'scoped to the key'));
    const second = await chat(name, 'scoped to the key', { key: another });
    expect(second.headers.get('idempotent-replayed')).toBeNull();
    expect((await bytesOf(second)).id).not.toBe(first.id);
  });

  test('a response of megabytes is stored outside the ledger, and replayed', async () => {
    const name = newName();
    const content = `[[long 20000]] [[burst]] ${name}`;
    const more = { model: 'renamed', stream: true, max_tokens: 30_000 };
    const first = await bytesOf(await chat(name, content, { more }));
    expect(first.text.length).toBeGreaterThan(2_000_000);
    const again = await chat(name, content, { more, origin: other.origin });
    expect([again.headers.get('idempotent-replayed'), again.headers.get('cache-control')]).toEqual([
      'true',
      'no-cache',
    ]);
    expect(await bytesOf(again)).toEqual(first);
    const rows = await fixture.database.sql`
      select chosen, answer, staged_when_short from idempotent_requests
      where staged is not null or staged_when_short is not null`;
    expect([...rows]).toEqual([{ chosen: 'whole', answer: null, staged_when_short: null }]);
  });

  test('a restarted gateway answers in the same way', async () => {
    const name = newName();
    const first = await bytesOf(await chat(name, 'before the restart', { origin: other.origin }));
    await other.stop();
    other = await startAnother();
    expect(await bytesOf(await chat(name, 'before the restart', { origin: other.origin }))).toEqual(first);
  });
});

describe('400 invalid_parameter, param Idempotency-Key', () => {
  test('another body with the same idempotency key', async () => {
    const name = newName();
    await chat(name, 'the first body');
    const response = await chat(name, 'another body');
    expect(response.status).toBe(400);
    expect(((await response.json()) as ErrorBody).error).toMatchObject({
      code: 'invalid_parameter',
      param: 'Idempotency-Key',
    });
    expect(callsWith('another body')).toBe(0);
  });

  test('another body while the first is in progress', async () => {
    const name = newName();
    const first = chat(name, 'slow first body', { more: { model: 'held' } });
    await held.holds(1);
    expect((await chat(name, 'impatient')).status).toBe(400);
    held.release();
    expect((await first).status).toBe(200);
  });

  test.each([
    ['', 'empty'],
    ['x'.repeat(256), 'too long'],
    ['caf\u00e9', 'not ASCII'],
  ])('a name that is %j', async (name, _what) => {
    const response = await chat(name, 'named badly');
    const { error } = (await response.json()) as ErrorBody;
    expect([response.status, error.code, error.param]).toEqual([400, 'invalid_parameter', 'Idempotency-Key']);
  });

  test('the longest idempotency key is accepted', async () => {
    expect((await chat('x'.repeat(255), 'long name')).status).toBe(200);
  });
});

describe('when the first attempt failed', () => {
  test('a temporary failure is run again', async () => {
    const name = newName();
    const content = `[[flaky 1 503 ${name}]] passes`;
    expect((await chat(name, content)).status).toBe(502);
    const again = await chat(name, content);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, null]);
    expect(callsWith(content)).toBe(2);
    expect((await chat(name, content)).headers.get('idempotent-replayed')).toBe('true');
  });

  test('a stream that broke off is run again', async () => {
    const name = newName();
    const content = '[[cut 2]] a b c d e f';
    const first = await (await chat(name, content, { more: { stream: true } })).text();
    expect(first).toContain('provider_stream_error');
    const again = await chat(name, content, { more: { stream: true } });
    expect(again.headers.get('idempotent-replayed')).toBeNull();
    await again.text();
    expect(callsWith(content)).toBe(2);
  });

  test('a stream that never began is run again', async () => {
    const name = newName();
    await (await chat(name, '[[empty]] nothing', { more: { stream: true } })).text();
    const again = await chat(name, '[[empty]] nothing', { more: { stream: true } });
    expect(again.headers.get('idempotent-replayed')).toBeNull();
    expect(await again.text()).toContain('empty_provider_stream');
  });

  test('what was charged is replayed, even if it ended in an error', async () => {
    const name = newName();
    const before = await chargesOf();
    const content = `[[repeat 200]] ${name}`;
    const first = await bytesOf(await chat(name, content, { more: { stream: true } }));
    expect(first.text).toContain('repeated_streaming_chunk_limit');
    const again = await chat(name, content, { more: { stream: true } });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await bytesOf(again)).toEqual(first);
    expect((await chargesOf()) - before).toBe(1);
  });

  test.each([
    ['the provider refuses the request', 'full', '[[status 400]]', 'provider_bad_request'],
    ['the provider refuses the gateway', 'locked', '', 'provider_authentication_error'],
    ['no provider is configured', 'absent', '', 'provider_not_configured'],
  ])(
    'what was not charged is carried out anew, though it may fail again: %s',
    async (_what, model, directive, code) => {
      const name = newName();
      const before = await storedFor(keyId);
      for (let attempt = 0; attempt < 2; attempt++) {
        const response = await chat(name, `${directive} refused`, { more: { model } });
        expect(((await response.json()) as ErrorBody).error.code).toBe(code);
        expect(response.headers.get('idempotent-replayed')).toBeNull();
      }
      expect(await storedFor(keyId)).toBe(before);
    },
  );

  test.each([
    ['a bad parameter', { temperature: 9 }, 400],
    ['an unknown model', { model: 'nope' }, 404],
  ])('%s is found out again, in the same words, and nothing is kept of it', async (_what, more, status) => {
    const name = newName();
    const first = await bytesOf(await chat(name, 'wrong', { more }));
    expect(first.status).toBe(status);
    expect((await bytesOf(await chat(name, 'wrong', { more }))).text).toBe(first.text);
    expect((await chat(name, 'right')).status).toBe(200);
  });

  test('a stream that could not be paid for in full is replayed as it was', async () => {
    const name = newName();
    const more = { stream: true, max_tokens: 1_000 };
    // Providers may count slightly more than was held for: here the balance is what was held.
    const content = (inputTokens: number) => `[[usage ${inputTokens} 1026]] ${name}`;
    const rich = await chat(null, content(1_000), { more });
    await rich.text();
    const id = rich.headers.get('x-service-request-id') ?? '';
    await finishedGeneration(fixture.gateway.origin, key, id);
    const [row] = await fixture.database.sql`
      select hold::text as hold, (hold * 1000000)::integer - 2000 as input from generations where id = ${id.slice('req_'.length)}`;
    const poor = await fixture.customer(row.hold);
    const ask = () => chat(name, content(row.input), { key: poor.key, more });
    const first = await bytesOf(await ask());
    expect(first.text).toContain('insufficient_balance');
    const again = await ask();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await bytesOf(again)).toEqual(first);
    expect(await chargesOf(poor.account)).toBe(1);
  });

  test('402 is not stored: the same idempotency key succeeds after the top-up', async () => {
    const poor = await fixture.customer('0.000001');
    const name = newName();
    expect((await chat(name, 'too dear', { key: poor.key })).status).toBe(402);
    await topUp(poor.account);
    const again = await chat(name, 'too dear', { key: poor.key });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, null]);
    expect((await chat(name, 'too dear', { key: poor.key })).headers.get('idempotent-replayed')).toBe('true');
  });

  test('403 is not stored: the same idempotency key succeeds once the monthly limit is raised', async () => {
    const limited = await fixture.customer('1', '--monthly-limit', '0.000001');
    const name = newName();
    expect((await chat(name, 'too much', { key: limited.key })).status).toBe(403);
    await fixture.database.sql`update api_keys set monthly_limit = 1 where id = ${limited.keyId}`;
    const again = await chat(name, 'too much', { key: limited.key });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, null]);
  });

  test('429 of the API key is run again', async () => {
    const limited = await fixture.customer('1', '--rpm', '1');
    await chat(null, 'uses the minute up', { key: limited.key });
    const name = newName();
    expect((await chat(name, 'limited', { key: limited.key })).status).toBe(429);
    const again = await chat(name, 'limited', { key: limited.key });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([429, null]);
  });

  test('a flood of refused requests leaves nothing behind', async () => {
    const poor = await fixture.customer('0');
    const limited = await fixture.customer('1', '--rpm', '1');
    await chat(null, 'uses the minute up', { key: limited.key });
    const flood = [poor, limited].flatMap((customer) =>
      Array.from({ length: 100 }, () => chat(newName(), 'flood', { key: customer.key })),
    );
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([402, 429]));
    expect([await storedFor(poor.keyId), await storedFor(limited.keyId)]).toEqual([0, 0]);
  });
});

describe('the rate of the key', () => {
  test('counts replays, which state the rate in their headers, and limits them', async () => {
    const limited = await fixture.customer('1', '--rpm', '3');
    const name = newName();
    const answers = [];
    for (let index = 0; index < 4; index++) answers.push(await chat(name, 'counted', { key: limited.key }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining-requests'))).toEqual([
      '2',
      '1',
      '0',
      '0',
    ]);
    expect(answers[2]?.headers.get('idempotent-replayed')).toBe('true');
    expect(answers[3]?.headers.get('retry-after')).not.toBeNull();
  });

  test('counts every request that waited for the response, and the one that ran, once each', async () => {
    const limited = await fixture.customer('1', '--rpm', '3');
    const name = newName();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => chat(name, '[[delay 300]] counted', { key: limited.key })),
    );
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
  });
});

describe('what one key may have stored', () => {
  afterEach(async () => {
    await fixture.database.sql`delete from idempotent_requests where node_id = ${nobody}`;
  });

  const nobody = '00000000-0000-0000-0000-000000000000';
  /** Had too much stored, which has expired: this is noticed a few seconds later, while other tests run. */
  let crowded: Awaited<ReturnType<ChatFixture['customer']>>;

  beforeAll(async () => {
    crowded = await fixture.customer('10', '--rpm', '100000');
    await fill(crowded, 0);
    const response = await chat(newName(), 'full', { key: crowded.key });
    expect(response.headers.get('idempotency-stored')).toBe('false');
    await fixture.database
      .sql`update idempotent_requests set expires_at = now() where key_id = ${crowded.keyId}`;
  });

  /** A little less than it may have. */
  async function fill(customer: { keyId: string }, missing: number): Promise<void> {
    await fixture.database.sql`
      insert into idempotent_requests (key_id, name_hash, body_hash, request_id, node_id, expires_at, answer)
      select ${customer.keyId}, sha256(number::text::bytea), sha256(''), gen_random_uuid(), ${nobody},
             now() + interval '1 day', ''
      from generate_series(1, ${defaultLimit.count - missing}::integer) as number`;
  }

  test('is limited: beyond it a request runs each time, and says that it is not stored', async () => {
    const busy = await fixture.customer('10', '--rpm', '1000');
    await fill(busy, 1);
    const [kept, dropped, streamed] = [newName(), newName(), newName()];
    const first = await chat(kept, 'fits', { key: busy.key });
    expect(first.headers.get('idempotency-stored')).toBeNull();
    const ids = new Set<string | null>();
    for (const more of [{}, {}, { stream: true }, { stream: true }]) {
      const name = 'stream' in more ? streamed : dropped;
      const response = await chat(name, `beyond ${name}`, { key: busy.key, more });
      expect(response.headers.get('idempotency-stored')).toBe('false');
      expect(response.headers.get('idempotent-replayed')).toBeNull();
      await response.text();
      ids.add(response.headers.get('x-service-request-id'));
    }
    expect(ids.size).toBe(4);
    expect((await chat(kept, 'fits', { key: busy.key })).headers.get('idempotent-replayed')).toBe('true');
    expect(await storedFor(busy.keyId)).toBe(defaultLimit.count);
    expect(await chargesOf(busy.account)).toBe(5);
  });

  test('and beyond it two at once with one idempotency key run one after the other', async () => {
    const busy = await fixture.customer('10', '--rpm', '1000');
    await fill(busy, 0);
    const name = newName();
    const both = [1, 2].map(async () => {
      const response = await chat(name, name, { key: busy.key, more: { model: 'held' } });
      return response.headers.get('idempotency-stored');
    });
    await held.holds(1);
    // The other one has time to run as well, if that were wrongly possible.
    await Bun.sleep(200);
    expect(held.count()).toBe(1);
    held.release();
    expect(await Promise.race(both)).toBe('false');
    await held.holds(1);
    held.release();
    expect(await Promise.all(both)).toEqual(['false', 'false']);
    expect(callsWith(name)).toBe(2);
    expect(await storedFor(busy.keyId)).toBe(defaultLimit.count);
  });

  test('is recounted without what has expired meanwhile', async () => {
    await eventually('room for another request', async () => {
      const response = await chat(newName(), 'room again', { key: crowded.key });
      return response.headers.get('idempotency-stored') === null;
    });
    expect(await storedFor(crowded.keyId)).toBe(1);
  });
});

test('a long response that cannot be stored says so, is charged, and is not run again', async () => {
  const name = newName();
  const before = await chargesOf();
  const more = { model: 'renamed', max_tokens: 30_000 };
  const ask = () => chat(name, `[[long 20000]] [[burst]] ${name}`, { more });
  await fixture.database
    .sql`alter table idempotent_requests add constraint nothing_staged check (staged is null) not valid`;
  const first = await ask();
  await fixture.database.sql`alter table idempotent_requests drop constraint nothing_staged`;
  expect([first.status, first.headers.get('idempotency-stored')]).toEqual([200, 'false']);
  expect((await first.text()).length).toBeGreaterThan(65_536);
  const again = await ask();
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([500, 'true']);
  expect(((await again.json()) as ErrorBody).error.code).toBe('billing_consistency_error');
  expect(callsWith(name)).toBe(1);
  expect((await chargesOf()) - before).toBe(1);
});

test('stored responses are encrypted, and gone after their time', async () => {
  const name = newName();
  await chat(name, 'kept-canary secret');
  const [row] = await fixture.database.sql`
    select count(*)::int as count, min(expires_at - created_at)::text as kept from idempotent_requests
    where key_id = ${keyId} and answer is not null`;
  expect(row.count).toBeGreaterThan(0);
  expect(row.kept).toBe('1 day');
  await fixture.database.sql`update idempotent_requests set expires_at = now()`;
  const anew = await chat(name, 'another body is fine by then');
  expect([anew.status, anew.headers.get('idempotent-replayed')]).toEqual([200, null]);
});

/** Runs while nothing can be settled. */
async function unsettled<Result>(run: () => Promise<Result>): Promise<Result> {
  await fixture.database.sql`alter table usage_records rename to usage_records_away`;
  try {
    return await run();
  } finally {
    await fixture.database.sql`alter table usage_records_away rename to usage_records`;
  }
}

describe('when the charge could not be committed in time', () => {
  const [streamName, wholeName] = ['late-stream', 'late-whole'];
  const stream = { model: 'held', stream: true };
  const whole = { model: 'held' };
  let owner: Awaited<ReturnType<ChatFixture['customer']>>;
  let delivered: string;
  let withheld: string;
  const ask = (name: string, more: object) => chat(name, `unsettled ${name}`, { key: owner.key, more });

  // Both at the same time, since the gateway tries for several seconds.
  beforeAll(async () => {
    owner = await fixture.customer('10');
    const streamed = await ask(streamName, stream);
    const asked = ask(wholeName, whole);
    await held.holds(2);
    [delivered, withheld] = await unsettled(async () => {
      held.release();
      return await Promise.all([streamed.text(), asked.then((response) => response.text())]);
    });
  });

  test('a stream that was delivered is charged later, and then replayed in full', async () => {
    expect(delivered).toContain('billing_temporarily_unavailable');
    const again = await ask(streamName, stream);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const text = await again.text();
    expect(text).not.toContain('"error"');
    expect(text).toContain(streamName);
    expect(callsWith(streamName)).toBe(1);
    expect(await chargesOf(owner.account)).toBe(1);
  });

  test('a response that was withheld is run again, and charged once', async () => {
    expect(withheld).toContain('billing_consistency_error');
    const asked = ask(wholeName, whole);
    await held.holds(1);
    held.release();
    const again = await asked;
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, null]);
    expect(callsWith(wholeName)).toBe(2);
    expect(await chargesOf(owner.account)).toBe(2);
  });
});

test('what has expired is removed, a bounded number at a time, and the rest stays', async () => {
  await fixture.database.sql`update idempotent_requests set expires_at = now()`;
  const [{ count }] = await fixture.database.sql`select count(*)::int as count from idempotent_requests`;
  const name = newName();
  await chat(name, 'stays');
  expect(await deleteExpired(fixture.database.sql, count - 1)).toBe(count - 1);
  expect(await deleteExpired(fixture.database.sql, 1_000)).toBe(1);
  expect((await chat(name, 'stays')).headers.get('idempotent-replayed')).toBe('true');
});

test('a node that dies leaves its requests to the other, which runs them once it is sure', async () => {
  const { key: own, account: ownAccount } = await fixture.customer('1');
  const name = newName();
  const more = { model: 'held' };
  const lost = chat(name, 'orphaned', { origin: other.origin, key: own, more }).catch(() => 'lost');
  await held.holds(1);
  other.process.kill('SIGKILL');
  expect(await lost).toBe('lost');
  await other.process.exited;
  held.release();
  // Pretends that its last heartbeat was long ago.
  await fixture.database.sql`
    update nodes set heartbeat_at = heartbeat_at - interval '1 minute'
    where id = (select node_id from open_generations where account_id = ${ownAccount})`;
  const asked = chat(name, 'orphaned', { key: own, more });
  await held.holds(1);
  held.release();
  const answer = await asked;
  expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([200, null]);
  expect(await chargesOf(ownAccount)).toBe(1);
  other = await startAnother();
  const again = await chat(name, 'orphaned', { origin: other.origin, key: own, more });
  expect(again.headers.get('idempotent-replayed')).toBe('true');
});
