/** An account that somebody keeps locked in the database: its own requests wait, those of other customers do not. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ChatFixture, openChatFixture } from '../support/chat-fixture.ts';

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
  const locking = await fixture.database.sql.reserve();
  await locking.unsafe('begin');
  await locking`select 1 from accounts where id = ${locked.account} for update`;
  const calls = Array.from({ length: 30 }, () => ask(locked.key));
  const asking = async () => {
    const statuses = new Set<number>();
    for (let count = 0; count < 40; count += 1) statuses.add(await ask(other.key));
    return statuses;
  };
  const first = await Promise.race([asking(), ...calls]);
  await locking.unsafe('rollback');
  await locking.release();
  expect(first).toEqual(new Set([200]));
  expect(new Set(await Promise.all(calls))).toEqual(new Set([200]));
}, 60_000);
