/** Long stored responses are replayed in pieces: many at once must not be in memory as a whole. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { type ChatFixture, openChatFixture } from '../support/chat-fixture.ts';
import { startGateway, temporaryFolder } from '../support/gateway.ts';

let fixture: ChatFixture;

beforeAll(async () => {
  fixture = await openChatFixture();
}, 60_000);

afterAll(() => fixture.close());

async function residentMegabytes(pid: number): Promise<number> {
  const { stdout } = Bun.spawnSync(['ps', '-o', 'rss=', '-p', `${pid}`]);
  return Number(stdout.toString()) / 1024;
}

test('20 replays of a 16 MB response at once cost little more memory than one', async () => {
  const { key } = await fixture.customer('100');
  const words = 3_400_000;
  const body = JSON.stringify({
    model: 'fallback',
    max_tokens: words,
    messages: [{ role: 'user', content: `[[long ${words}]]` }],
  });
  const ask = (origin: string) =>
    fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': 'long',
      },
      body,
    });
  const first = await ask(fixture.gateway.origin);
  expect(first.status).toBe(200);
  const text = await first.text();
  expect(text.length).toBeGreaterThan(14_000_000);
  const expected = createHash('sha256').update(text).digest('hex');

  // A gateway that has done nothing else yet.
  const fresh = await startGateway({ ...fixture.environment, TOLLGATE_DATA: temporaryFolder() });
  const before = await residentMegabytes(fresh.process.pid);
  let peak = before;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      peak = Math.max(peak, await residentMegabytes(fresh.process.pid));
      await Bun.sleep(50);
    }
  })();
  const replays = Array.from({ length: 20 }, async () => {
    const response = await ask(fresh.origin);
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    const hash = createHash('sha256');
    for await (const piece of response.body ?? []) hash.update(piece);
    return hash.digest('hex');
  });
  expect(new Set(await Promise.all(replays))).toEqual(new Set([expected]));
  isOver = true;
  await watching;
  await fresh.stop();
  expect(peak - before).toBeLessThan(200);
}, 120_000);
