/** Real gateways on one database: a request may outlast a lease, and a gateway whose clock is off takes none. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId, uuidFromRequestId } from '../../src/lib/ids.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, launchGateway, temporaryFolder, tollgate, writeCatalog } from '../support/gateway.ts';
import { quickGateway, quickTimings } from '../support/quick-lease.ts';

/** A provider that answers when it is told to. */
const answered = Promise.withResolvers<void>();
const provider = Bun.serve({
  port: 0,
  idleTimeout: 0,
  fetch: async () => {
    await answered.promise;
    return Response.json({
      id: 'completion',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
    });
  },
});
const catalog = `
price_version: "1"
providers: { slow: { name: Slow, adapter: openai, base_url: ${provider.url}v1 } }
models: { m: { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [slow] } }
`;
const clockFile = join(temporaryFolder(), 'shift');

let database: TestDatabase;
let environment: Record<string, string>;
let key: string;

beforeAll(async () => {
  database = await createDatabase();
  writeFileSync(clockFile, '0');
  environment = {
    DATABASE_URL: database.url,
    TOLLGATE_DATA: temporaryFolder(),
    TOLLGATE_CATALOG: writeCatalog(catalog),
    CLOCK_SHIFT_FILE: clockFile,
  };
  const account = await runCommand<{ id: string }>(
    ['account', 'create', '--name', 'Test', '--credit', '10'],
    environment,
  );
  const made = await runCommand<{ key: string }>(['key', 'create', '--account', account.id], environment);
  key = made.key;
}, 60_000);

afterAll(async () => {
  await provider.stop(true);
  await database.close();
});

const start = (...preloads: string[]) =>
  launchGateway(environment, { command: quickGateway(...preloads) }).listening;

const ask = ({ origin }: Gateway) =>
  fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] }),
  });

/** An open Generation of an unknown node, created after the only open request. */
async function leaveOrphan(): Promise<void> {
  const orphan = { id: newId(), node_id: newId(), created_at: new Date().toISOString() };
  await database.sql.begin(async (sql) => {
    const [copied] = await sql`
      insert into open_generations
      select (jsonb_populate_record(one, ${orphan}::jsonb)).* from open_generations as one
      returning hold, account_id, key_id`;
    // None when the request is no longer open, which the test is about.
    if (!copied) return;
    await sql`update accounts set held = held + ${copied.hold}::numeric where id = ${copied.account_id}`;
    await sql`
      update api_key_meters set held = held + ${copied.hold}::numeric, open_count = open_count + 1
      where key_id = ${copied.key_id}`;
  });
  await eventually(
    'what was left open is closed',
    async () => (await database.sql`select 1 from open_generations where id = ${orphan.id}`).length === 0,
  );
}

test('a request that outlasts a lease on a live node is not touched by the others, and charged once', async () => {
  const [busy, other] = await Promise.all([start(), start()]);
  const response = ask(busy);
  const findOpen = () => database.sql<{ id: string; is_old: boolean }[]>`
    select id, created_at < now() - make_interval(secs => ${quickTimings.leaseMs / 1000}::float8) as is_old
    from open_generations order by created_at limit 1`;
  await eventually('the request is open', async () => (await findOpen()).length > 0);
  const [opened] = await findOpen();
  const isOpen = async () => (await findOpen())[0]?.id === opened?.id;
  await eventually('a lease has passed', async () => (await findOpen())[0]?.is_old !== false);
  // The other node closes what has no node, so it has also looked at this one's and knows that it is alive.
  while ((await isOpen()) && !other.output().includes('closing what a dead node left open'))
    await leaveOrphan();
  expect(await isOpen()).toBe(true);
  answered.resolve();
  const { status, headers } = await response;
  const id = uuidFromRequestId(headers.get('x-service-request-id') ?? '');
  expect(id).toBe(opened?.id ?? '');
  const [generation] = await database.sql`select status, error_code from generations where id = ${id}`;
  const charges = await database.sql`select amount from ledger_entries where generation_id = ${id}`;
  expect([status, generation, charges.map(({ amount }: { amount: string }) => amount)]).toEqual([
    200,
    { status: 'completed', error_code: null },
    ['-0.000014000000'],
  ]);
  expect(await Promise.all([busy.stop(), other.stop()])).toEqual([0, 0]);
  expect((await tollgate(['ledger', 'audit', '--full'], environment)).exitCode).toBe(0);
});

test('a gateway whose clock is off from the database is not ready and admits nothing, until it is right again', async () => {
  answered.resolve();
  const gateway = await start('shifted-clock.ts');
  const readiness = async () => {
    const response = await fetch(`${gateway.origin}/readyz`);
    return { http: response.status, ...((await response.json()) as { clock: string }) };
  };
  const nextBeat = async () => {
    const beat = async () =>
      (await database.sql`select heartbeat_at::text from nodes where stopped_at is null`)[0].heartbeat_at;
    const last = await beat();
    await eventually('its heart beats', async () => (await beat()) !== last);
  };
  expect(await readiness()).toEqual({
    http: 200,
    status: 'ready',
    reasons: [],
    draining: false,
    database: 'ok',
    schema: 'ok',
    clock: 'right',
    lease: 'in force',
    catalogue: 'ok',
    spool: 'ok',
    descriptors: 'ok',
  } as never);
  expect((await ask(gateway)).status).toBe(200);

  for (const shiftMs of [93_000, -93_000]) {
    writeFileSync(clockFile, String(shiftMs));
    await eventually('it is not ready', async () => (await readiness()).http === 503);
    expect(await readiness()).toMatchObject({
      status: 'not ready',
      database: 'ok',
      clock: expect.stringMatching(/^off by 9\d s$/),
    });
    const refused = await ask(gateway);
    expect(refused.status).toBe(500);
    const { error } = (await refused.json()) as ErrorBody;
    expect(error.code).toBe('server_not_configured');
    expect(error.message).toContain('clock');
    expect(await database.sql`select 1 from open_generations`).toHaveLength(0);
    await nextBeat();
    await nextBeat();

    writeFileSync(clockFile, '0');
    await eventually('it is ready', async () => (await readiness()).http === 200);
    expect((await ask(gateway)).status).toBe(200);
  }
  expect(await gateway.stop()).toBe(0);
  // Logged when it changed and not with each heartbeat.
  const told = [...gateway.output().matchAll(/"event":"[^"]*clock (differs|is right again)/g)].map(
    ([, word]) => word,
  );
  expect(told).toEqual(['differs', 'is right again', 'differs', 'is right again']);
});
