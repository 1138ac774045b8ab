/** A gateway that cannot write to its disk: it says so before anything is lost, and when usage exists only in memory. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ChatFixture, chatCatalog, openChatFixture } from '../support/chat-fixture.ts';
import { type DatabaseRelay, startDatabaseRelay } from '../support/database-relay.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';
import { heldModel, startHeldProvider } from '../support/held-provider.ts';
import { readSamples } from '../support/metrics.ts';

const held = startHeldProvider('held');
const token = 'metrics-token-canary';
let fixture: ChatFixture;
let relay: DatabaseRelay;
/** A file where the folder of the spool should be: nothing can be written, whoever runs the test. */
let spoolPath: string;

beforeAll(async () => {
  fixture = await openChatFixture(
    (url) => chatCatalog(url, heldModel(held, url)),
    async (environment) => {
      relay = await startDatabaseRelay(environment.DATABASE_URL ?? '');
      spoolPath = join(environment.TOLLGATE_DATA ?? '', 'spool');
      writeFileSync(spoolPath, '');
      return await startGateway({ ...environment, DATABASE_URL: relay.url, METRICS_TOKEN: token });
    },
  );
}, 60_000);

afterAll(async () => {
  held.release();
  await fixture.close();
  relay.close();
  await held.stop();
}, 60_000);

async function gauges(...names: string[]): Promise<(number | undefined)[]> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${fixture.gateway.origin}/metrics`, { headers });
  const samples = readSamples(await response.text());
  return names.map((name) => samples.find((sample) => sample.name === name)?.value);
}

async function readiness() {
  const response = await fetch(`${fixture.gateway.origin}/readyz`);
  return { http: response.status, ...((await response.json()) as { reasons: string[] }) };
}

test('without room for the spool a gateway is not ready', async () => {
  expect(await readiness()).toMatchObject({
    http: 503,
    reasons: ['spool: no room can be set aside (EEXIST)'],
  });
  expect(fixture.gateway.output()).toContain('the spool cannot be used');
  rmSync(spoolPath);
  expect(await readiness()).toMatchObject({ http: 200, reasons: [], spool: 'ok' });
  const [freeBytes] = await gauges('tollgate_spool_free_bytes');
  expect(freeBytes).toBeGreaterThan(4 * 1024 * 1024);
});

test('usage that is neither in the database nor on the disk is counted, and settled once', async () => {
  const { key, account } = await fixture.customer('1');
  const stream = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'held', stream: true, messages: [{ role: 'user', content: 'held' }] }),
  });
  await held.holds(1);
  rmSync(spoolPath, { recursive: true });
  writeFileSync(spoolPath, '');
  relay.become('close');
  held.release();
  // It ends with an error after a while, because its usage could not be stored.
  const ended = stream.text();
  const become = (expected: { unstored: number; spooled: number }) =>
    eventually(JSON.stringify(expected), async () => {
      const found = await gauges('tollgate_unstored_settlements', 'tollgate_spooled_settlements');
      return found[0] === expected.unstored && found[1] === expected.spooled;
    });
  await become({ unstored: 1, spooled: 0 });
  rmSync(spoolPath);
  await become({ unstored: 0, spooled: 1 });
  relay.become('pass');
  await become({ unstored: 0, spooled: 0 });
  await ended;
  const charges = await fixture.database.sql`
    select 1 from ledger_entries where account_id = ${account} and kind = 'charge'`;
  expect(charges).toHaveLength(1);
}, 60_000);
