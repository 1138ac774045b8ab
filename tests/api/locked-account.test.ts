/** An account that a transaction keeps locked in the database: its own requests wait, those of other customers do not. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ChatFixture, openChatFixture } from '../support/chat-fixture.ts';
import { expectNoSlowdown } from '../support/slowdown.ts';

let fixture: ChatFixture;

beforeAll(async () => {
  fixture = await openChatFixture();
}, 60_000);

afterAll(() => fixture.close());

async function ask(key: string): Promise<number> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content: 'hello' }] }),
  });
  await response.text();
  return response.status;
}

test('30 clients of a locked account hold up nobody else, and are served when it is free', async () => {
  const locked = await fixture.customer('10');
  const other = await fixture.customer('10');
  expect([await ask(locked.key), await ask(other.key)]).toEqual([200, 200]);
  const askTenTimes = async () => {
    for (let count = 0; count < 10; count += 1) expect(await ask(other.key)).toBe(200);
  };
  await expectNoSlowdown(askTenTimes, async (others) => {
    const locking = await fixture.database.sql.reserve();
    await locking.unsafe('begin');
    await locking`select 1 from accounts where id = ${locked.account} for update`;
    let isLocked = true;
    const askUntilFree = async () => {
      while (isLocked) expect([200, 500]).toContain(await ask(locked.key));
      return await ask(locked.key);
    };
    const clients = Array.from({ length: 30 }, askUntilFree);
    await others();
    isLocked = false;
    await locking.unsafe('rollback');
    await locking.release();
    expect(new Set(await Promise.all(clients))).toEqual(new Set([200]));
  });
}, 60_000);
