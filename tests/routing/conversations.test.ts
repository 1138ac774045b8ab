/** Which provider a conversation stays with, and for how long. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Provider } from '../../src/models/model.ts';
import { chatAdapters } from '../../src/providers/chat-call.ts';
import { defaultDialect } from '../../src/providers/upstream.ts';
import { type Candidate, CandidatesInTurn } from '../../src/routing/candidates.ts';
import { Conversations } from '../../src/routing/conversations.ts';
import { Gates } from '../../src/routing/gates.ts';
import { testProvider } from '../support/provider.ts';

const gates = new Gates();

function candidate(id: string, changes: Partial<Provider> = {}): Candidate {
  const provider = testProvider({ id, name: id, ...changes });
  const connection = { provider } as Candidate['connection'];
  return {
    connection,
    chat: chatAdapters.openai,
    upstreamModel: 'm',
    weight: null,
    cost: null,
    gate: gates.at(provider, 'm'),
    marksCache: false,
    reasoning: null,
    takesVerbosity: false,
  };
}

const [a, b, c] = [candidate('a'), candidate('b'), candidate('c')] as const;
const all = [a, b, c];
const idsOf = (candidates: readonly Candidate[]) =>
  candidates.map(({ connection }) => connection.provider.id).join('');
const secret = Buffer.from('a secret key of the whole deploy');

function start() {
  const clock = { nowMs: 1_000 };
  const conversations = new Conversations(secret, () => clock.nowMs);
  const find = (beginning = 'hello', account = 'one', model = 'm') => {
    const found = conversations.of(account, model, () => beginning, all);
    if (found === null) throw new Error('It has several candidates.');
    return found;
  };
  return { clock, conversations, find };
}

describe('a conversation', () => {
  test('stays with the provider that served it, for five minutes after it was served last', () => {
    const { clock, find } = start();
    expect(idsOf(find().inOrder(all))).toBe('abc');
    find().servedBy(b);
    expect(idsOf(find().inOrder(all))).toBe('bac');
    clock.nowMs += 299_999;
    expect(idsOf(find().inOrder([c, a, b]))).toBe('bca');
    find().servedBy(b);
    clock.nowMs += 299_999;
    expect(idsOf(find().inOrder(all))).toBe('bac');
    clock.nowMs += 1;
    expect(idsOf(find().inOrder(all))).toBe('abc');
  });

  test('that never pauses follows the usual order again after an hour, and then stays where that leads', () => {
    const { clock, find } = start();
    find().servedBy(b);
    const sinceMs = clock.nowMs;
    const serve = () => {
      const turn = find();
      const [first] = turn.inOrder(all);
      clock.nowMs += 1_000;
      turn.servedBy(first as Candidate);
      return idsOf([first as Candidate]);
    };
    const hourMs = 3_600_000;
    while (clock.nowMs - sinceMs < hourMs - 500) {
      expect(serve()).toBe('b');
      clock.nowMs += 60_000;
    }
    clock.nowMs = sinceMs + hourMs - 500;
    // The last one ends after the hour, and does not begin another.
    expect(serve()).toBe('b');
    const late = find();
    expect(serve()).toBe('a');
    expect(serve()).toBe('a');
    // If the first provider still fails, one attempt in an hour is all that it costs.
    late.inOrder(all);
    late.servedBy(c);
    expect(serve()).toBe('c');
    clock.nowMs += 200_000;
    expect(serve()).toBe('c');
  });

  test('that a late response moves back is free to go where new ones go', () => {
    const { clock, find } = start();
    find().servedBy(b);
    const slow = find();
    slow.inOrder(all);
    for (let minutes = 0; minutes < 60; minutes += 4) {
      const turn = find();
      turn.inOrder(all);
      turn.servedBy(b);
      clock.nowMs += 240_000;
    }
    find().servedBy(a);
    slow.servedBy(b);
    expect(idsOf(find().inOrder(all))).toBe('abc');
  });

  test('follows the provider that took over', () => {
    const { find } = start();
    find().servedBy(b);
    find().servedBy(c);
    expect(idsOf(find().inOrder(all))).toBe('cab');
    find().servedBy(a);
    expect(find().inOrder(all)).toBe(all);
  });

  test('is one of an account, a model and a beginning', () => {
    const { find } = start();
    find('hello', 'one', 'm').servedBy(b);
    for (const other of [find('hello', 'two', 'm'), find('hello', 'one', 'n'), find('bye', 'one', 'm')])
      expect(idsOf(other.inOrder(all))).toBe('abc');
    expect(find('hello', 'one', 'm').key).toBe(find().key);
  });

  test('is not lost without its provider, and none is added', () => {
    const { find } = start();
    find().servedBy(b);
    expect(find().inOrder([a, c])).toEqual([a, c]);
    expect(idsOf(find().inOrder([b]))).toBe('b');
  });

  test('is skipped where the gate is shut', () => {
    const { find } = start();
    const busy = candidate('busy', { maxConcurrency: 1 });
    find().servedBy(busy);
    const first = new CandidatesInTurn([a, busy], 'one', true, find());
    expect(first.current?.candidate).toBe(busy);
    expect(first.current?.conversation?.key).toBe(find().key);
    const second = new CandidatesInTurn([a, busy], 'one', true, find());
    expect(second.current?.candidate).toBe(a);
    for (const turn of [first, second]) turn.current?.permit.withdrawn();
  });

  test('is nothing where nothing depends on it', () => {
    const { conversations } = start();
    let count = 0;
    const beginning = () => {
      count += 1;
      return 'hello';
    };
    expect(conversations.of('one', 'm', null, all)).toBeNull();
    expect(conversations.of('one', 'm', beginning, [a])).toBeNull();
    expect(conversations.of('one', 'm', beginning, [])).toBeNull();
    expect(count).toBe(0);
    const dialect = { ...defaultDialect, cacheKey: 'prompt_cache_key' } as const;
    expect(conversations.of('one', 'm', beginning, [candidate('d', { dialect })])?.key).toMatch(
      /^[\w-]{43}$/,
    );
    expect(count).toBe(1);
  });

  test('has a key that needs the secret, and tells no two apart that are one', () => {
    const others = new Conversations(Buffer.from('another'), () => 0);
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (account, model, one, two) => {
        const { find } = start();
        const { key } = find(one, account, model);
        expect(find(one, account, model).key).toBe(key);
        expect(others.of(account, model, () => one, all)?.key).not.toBe(key);
        expect(find(two, account, model).key === key).toBe(one === two);
        expect(find(one, `${account}x`, model).key).not.toBe(key);
        expect(find(one, account, `${model}x`).key).not.toBe(key);
      }),
    );
  });
});

test('any history of calls: the last provider first while its cache lives, always the same candidates', () => {
  const name = fc.constantFrom('k', 'l', 'm');
  const event = fc.record({ name, by: fc.constantFrom(...all), afterMs: fc.nat(400_000) });
  const orders = fc.shuffledSubarray(all, { minLength: 1 });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 20 }), name, orders, (events, asked, order) => {
      const { clock, find } = start();
      let served: Readonly<{ by: Candidate; atMs: number }> | null = null;
      for (const { name: of, by, afterMs } of events) {
        clock.nowMs += afterMs;
        find(of).servedBy(by);
        if (of === asked) served = { by, atMs: clock.nowMs };
      }
      const found = find(asked).inOrder(order);
      const isAlive = served !== null && clock.nowMs - served.atMs < 300_000 && order.includes(served.by);
      const first = isAlive && served !== null ? served.by : order[0];
      expect(found[0]).toBe(first as Candidate);
      expect(found.filter((each) => each !== first)).toEqual(order.filter((each) => each !== first));
    }),
  );
});

test('memory is bounded: the conversation that was served longest ago is forgotten', () => {
  const { conversations, find } = start();
  for (let index = 0; index < 20_000; index += 1) find(`${index}`).servedBy(b);
  expect(conversations.size).toBe(20_000);
  expect(idsOf(find('0').inOrder(all))).toBe('bac');
  find('0').servedBy(b);
  find('new').servedBy(b);
  expect(conversations.size).toBe(20_000);
  expect(idsOf(find('0').inOrder(all))).toBe('bac');
  expect(idsOf(find('1').inOrder(all))).toBe('abc');
});

test('an account with many conversations forgets its own, and nobody else forgets any', () => {
  const { conversations, find } = start();
  find('hello', 'quiet').servedBy(b);
  for (let index = 0; index < 30_000; index += 1) find(`${index}`, 'busy').servedBy(b);
  expect(conversations.size).toBe(20_000);
  expect(idsOf(find('hello', 'quiet').inOrder(all))).toBe('bac');
  expect(idsOf(find('10000', 'busy').inOrder(all))).toBe('abc');
  expect(idsOf(find('10001', 'busy').inOrder(all))).toBe('bac');
  // Another one makes room for itself at the expense of the busy one.
  for (let index = 0; index < 10_000; index += 1) find(`${index}`, 'third').servedBy(b);
  expect(conversations.size).toBe(20_000);
  expect(idsOf(find('hello', 'quiet').inOrder(all))).toBe('bac');
  expect(idsOf(find('0', 'third').inOrder(all))).toBe('bac');
  expect(idsOf(find('29999', 'busy').inOrder(all))).toBe('bac');
});
