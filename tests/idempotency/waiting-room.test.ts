/** Requests that wait for an idempotency key that another request has claimed, against a real PostgreSQL. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { claim, releaseClaim } from '../../src/idempotency/claim-store.ts';
import { KeySlots } from '../../src/idempotency/key-slots.ts';
import { ClientGone, WaitingRoom } from '../../src/idempotency/waiting-room.ts';
import { newId } from '../../src/lib/ids.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

let database: TestDatabase;
const nodeId = newId();

beforeAll(async () => {
  database = await createDatabase();
  await database.sql`insert into nodes (id, name, heartbeat_at) values (${nodeId}, 'test', now() + interval '1 hour')`;
}, 60_000);

afterAll(() => database.close());

/** This many that wait for one idempotency key, and which have been told something so far. */
async function crowd(count: number) {
  const request = { keyId: newId(), idempotencyHash: 'ab'.repeat(32), bodyHash: 'cd'.repeat(32) };
  const room = new WaitingRoom(database.sql, new KeySlots(count));
  const first = newId();
  await claim(database.sql, request, first, nodeId);
  const told: number[] = [];
  const clients = Array.from({ length: count }, () => new AbortController());
  const outcomes = clients.map(({ signal }, index) =>
    room.outcomeOf(request, signal).then(
      (state) => {
        told.push(index);
        return state;
      },
      (error: unknown) => error,
    ),
  );
  return { request, room, first, told, clients, outcomes };
}

test('a key that has become free is offered to one after the other, and not to those that have left', async () => {
  const { request, room, first, told, clients, outcomes } = await crowd(5);
  clients[0]?.abort();
  expect(await outcomes[0]).toBeInstanceOf(ClientGone);
  await releaseClaim(database.sql, request, first);
  room.noteRelease(request);
  await outcomes[1];
  expect(told).toEqual([1]);
  // It does not claim the key, as if its client had gone just now.
  expect(await outcomes[2]).toBeNull();
  expect(told).toEqual([1, 2]);
  const next = newId();
  await claim(database.sql, request, next, nodeId);
  await database.sql`update idempotent_requests set answer = '' where request_id = ${next}`;
  for (const outcome of outcomes.slice(3)) await outcome;
  expect(told).toEqual([1, 2, 3, 4]);
});

test('an answer is for all of them at once', async () => {
  const { first, told, outcomes } = await crowd(5);
  await database.sql`update idempotent_requests set answer = '' where request_id = ${first}`;
  await outcomes[0];
  await new Promise(setImmediate);
  expect(told).toEqual([0, 1, 2, 3, 4]);
});
