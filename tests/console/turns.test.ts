/** How many calls of one person run at a time, and what happens to the others. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createGuard, createSlots } from '../../src/console/guard.ts';
import { ApiError } from '../../src/errors.ts';
import type { RequestContext } from '../../src/http/context.ts';
import { newId } from '../../src/lib/ids.ts';

const refusalOf = (thrown: unknown) =>
  thrown instanceof ApiError ? [thrown.code, thrown.retryAfterSeconds] : thrown;

test('a number run, some wait in order, the rest are told to come back, and other people are not affected', async () => {
  const { inSlotOf } = createSlots(2, 3, 60_000);
  const gates: PromiseWithResolvers<void>[] = [];
  const call = (user: string) =>
    inSlotOf(user, () => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      return gate.promise;
    });
  const calls = Array.from({ length: 5 }, () => call('ada'));
  expect(gates).toHaveLength(2);
  expect(await call('ada').catch(refusalOf)).toEqual(['too_many_attempts', 1]);
  const other = call('bob');
  expect(gates).toHaveLength(3);
  gates[2]?.resolve();
  await other;
  gates[0]?.reject(new Error('It failed.'));
  expect(await calls[0]?.catch(String)).toBe('Error: It failed.');
  // A failure frees the slot too, for the call that has waited longest.
  expect(gates).toHaveLength(4);
  const late = call('ada');
  expect(gates).toHaveLength(4);
  for (let index = 1; index < 7; index++) {
    gates[index]?.resolve();
    await Bun.sleep(0);
  }
  await Promise.all([...calls.slice(1), late]);
  expect(gates).toHaveLength(7);
});

test('whatever comes and goes, nobody has more than their share', async () => {
  const arrivals = fc.array(fc.tuple(fc.constantFrom('ada', 'bob'), fc.nat(3), fc.boolean()), {
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(arrivals, async (people) => {
      const { inSlotOf } = createSlots(3, 5, 60_000);
      const running = new Map<string, number>();
      const count = (user: string, change: number) => {
        running.set(user, (running.get(user) ?? 0) + change);
        expect(running.get(user)).toBeLessThanOrEqual(3);
      };
      await Promise.allSettled(
        people.map(([user, ticks, isFailing]) =>
          inSlotOf(user, async () => {
            count(user, 1);
            for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
            count(user, -1);
            if (isFailing) throw new Error('It failed.');
          }),
        ),
      );
      expect([...running.values()].filter((left) => left !== 0)).toEqual([]);
    }),
  );
});

test('nobody waits without an end', async () => {
  const { inSlotOf } = createSlots(1, 3, 1);
  const gate = Promise.withResolvers<void>();
  const running = inSlotOf('ada', () => gate.promise);
  expect(await inSlotOf('ada', () => Promise.resolve()).catch(refusalOf)).toEqual(['too_many_attempts', 1]);
  gate.resolve();
  await running;
});

test('the members of an account share its slots, and cannot keep an operator from looking into it', async () => {
  const person = { sessionId: '', email: '', name: '', mustVerify: false };
  const { forAccount } = createGuard({
    publicUrl: null,
    sessions: {
      find: (headers) => {
        const userId = headers.get('cookie') ?? '';
        return Promise.resolve({ ...person, userId, isOperator: userId === 'operator' });
      },
    },
  });
  const gates: PromiseWithResolvers<Response>[] = [];
  const handler = forAccount(() => {
    const gate = Promise.withResolvers<Response>();
    gates.push(gate);
    return gate.promise;
  });
  const account = newId();
  const look = async (cookie: string) => {
    const request = Object.assign(new Request('http://localhost/', { headers: { cookie } }), {
      params: { account },
    });
    return await handler(request, { clientAddress: () => null } as RequestContext);
  };
  const looks = ['ada', 'ada', 'ada', 'bob', 'bob', 'bob'].map(look);
  await Bun.sleep(0);
  expect(gates).toHaveLength(4);
  const ofOperator = look('operator');
  await Bun.sleep(0);
  expect(gates).toHaveLength(5);
  gates[4]?.resolve(new Response());
  await ofOperator;
  for (let index = 0; index < 7; index++) {
    gates[index]?.resolve(new Response());
    await Bun.sleep(0);
  }
  await Promise.all(looks);
});
