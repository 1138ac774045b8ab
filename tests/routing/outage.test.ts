/** A provider that fails for many accounts, or only for those of one hostile person: what it means for the others. */
import { describe, expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { ProviderError } from '../../src/providers/upstream.ts';
import type { Gate, GateEvent } from '../../src/routing/gate.ts';
import { Gates } from '../../src/routing/gates.ts';
import { noOutage, outageAfter, Witnesses } from '../../src/routing/outage.ts';
import { testProvider as provider } from '../support/provider.ts';

const openMs = 30_000;
const settings = { failures: 5, openMs };
const serverError = new ProviderError('provider_unavailable', { upstreamStatus: 500 });
/** What a request can cause by itself. */
const failures = [
  serverError,
  new ProviderError('provider_timeout'),
  new ProviderError('provider_stream_error', { upstreamStatus: 200 }),
  new ProviderError('provider_bad_request', { upstreamStatus: 400 }),
  new ProviderError('provider_bad_request', { upstreamStatus: 402 }),
  new ProviderError('provider_bad_request', { upstreamStatus: 404 }),
  new ProviderError('provider_authentication_error', { upstreamStatus: 403 }),
];

/** A gate with its own clock. */
function trial(circuit = settings) {
  const events: GateEvent[] = [];
  const gate: Gate = new Gates((event) => events.push(event)).at(
    provider({ circuit, maxConcurrency: 1_000 }),
    'm',
  );
  let nowMs = 1_000_000;
  const clock = spyOn(performance, 'now').mockImplementation(() => nowMs);
  return {
    gate,
    events,
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** False when the gate refused. */
    call(account: string, failure: ProviderError | null): boolean {
      const permit = gate.enter(account);
      if (failure === null) permit?.succeeded();
      else permit?.failed(failure);
      return permit !== null;
    },
    isOpenFor(account: string): boolean {
      const permit = gate.enter(account);
      permit?.withdrawn();
      return permit !== null;
    },
    get state() {
      return gate.status(nowMs)?.state ?? 'closed';
    },
    [Symbol.dispose]: () => clock.mockRestore(),
  };
}

const names = (count: number) => Array.from({ length: count }, (_, number) => `account ${number}`);

/** Calls of up to twelve accounts that belong to one person, who may also wait, and succeed where that helps. */
const hostileCall = fc.record({
  account: fc.integer({ min: 0, max: 11 }),
  failure: fc.option(fc.constantFrom(...failures), { freq: 3 }),
  waitMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 * openMs })),
});

describe('whatever any number of accounts cause', () => {
  test('an account that is served goes on being served', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.array(hostileCall, { maxLength: 200 }),
        (limit, calls) => {
          using one = trial({ failures: limit, openMs });
          expect(one.call('honest', null)).toBe(true);
          for (const { account, failure, waitMs } of calls) {
            one.pass(waitMs);
            one.call(`hostile ${account}`, failure);
            expect(one.call('honest', null)).toBe(true);
          }
        },
      ),
    );
  });

  test('an account that comes for the first time waits for `open_ms` at most, and once in ten times as long', () => {
    fc.assert(
      fc.property(fc.array(hostileCall, { maxLength: 200 }), (calls) => {
        using one = trial();
        let passedMs = 0;
        let shutMs = 0;
        // Looked at every second.
        const pass = (ms: number) => {
          for (let restMs = ms; restMs > 0; restMs -= 1_000) {
            const stepMs = Math.min(1_000, restMs);
            shutMs += Math.min(stepMs, one.gate.waitMs('newcomer'));
            passedMs += stepMs;
            one.pass(stepMs);
          }
        };
        for (const { account, failure, waitMs } of calls) {
          pass(waitMs);
          one.call(`hostile ${account}`, failure);
        }
        expect(shutMs).toBeLessThanOrEqual(openMs * (1 + Math.floor(passedMs / (10 * openMs))));
      }),
      { numRuns: 50 },
    );
  });

  test('accounts that were never served prove nothing, not even to those who come for the first time', () => {
    using one = trial();
    for (let round = 0; round < 20; round += 1)
      for (const account of names(50)) one.call(account, serverError);
    expect(one.state).toBe('closed');
    expect(one.isOpenFor('newcomer')).toBe(true);
  });
});

describe('a provider that is down for everyone', () => {
  /** Serves this many accounts, then fails each once. */
  function breakDown(one: ReturnType<typeof trial>, count: number): void {
    for (const account of names(count)) one.call(account, null);
    for (const account of names(count)) one.call(account, serverError);
  }

  test('is not called once five accounts have failed, by these or anyone who is not being served', () => {
    using one = trial();
    breakDown(one, 4);
    expect([one.state, one.isOpenFor('newcomer')]).toEqual(['closed', true]);
    one.call('account 4', null);
    one.call('account 4', serverError);
    expect([one.state, one.isOpenFor('newcomer')]).toEqual(['open', false]);
    expect(one.gate.waitMs('newcomer')).toBe(openMs);
    expect(one.events).toContainEqual({
      provider: 'P',
      model: 'm',
      kind: 'opened',
      pauseMs: openMs,
      account: null,
    });
    // Only the last one's own circuit has opened; the others have not failed often enough.
    for (const account of names(5)) expect(one.gate.waitMs(account)).toBe(openMs);
  });

  test('is called by an account that is still being served, until its first failure', () => {
    using one = trial();
    one.call('served', null);
    breakDown(one, 5);
    expect(one.call('served', null)).toBe(true);
    expect(one.call('served', serverError)).toBe(true);
    expect(one.gate.waitMs('served')).toBe(openMs);
  });

  test('is tried after `open_ms` by each account for itself, so that nobody depends on another', () => {
    using one = trial();
    breakDown(one, 5);
    one.pass(openMs);
    // For the operator it is open for as long as it fails for most.
    expect(one.gate.status(performance.now())).toMatchObject({ state: 'open', untilMs: null });
    const slow = one.gate.enter('newcomer');
    expect(slow).not.toBeNull();
    // A long answer does not keep it from calling again.
    expect(one.call('newcomer', null)).toBe(true);
    expect(one.call('another', serverError)).toBe(true);
    expect(one.gate.waitMs('another')).toBe(openMs);
    slow?.succeeded();
    expect(one.call('newcomer', null)).toBe(true);
    // Five against one: it is still down for most, and those who come are careful.
    expect(one.state).toBe('open');
  });

  test('is back as soon as it serves as many accounts as it fails', () => {
    using one = trial();
    breakDown(one, 6);
    one.pass(openMs);
    for (const account of ['x', 'y', 'z', 'account 0']) expect(one.call(account, null)).toBe(true);
    expect(one.state).toBe('open');
    one.pass(openMs);
    expect(one.call('account 1', null)).toBe(true);
    expect(one.state).toBe('closed');
    expect(one.events.filter(({ kind }) => kind === 'closed')).toContainEqual(
      expect.objectContaining({ account: null }),
    );
    expect(one.isOpenFor('newcomer')).toBe(true);
  });

  test('is not shown as down forever when nobody calls it, but as something that a call has to show', () => {
    using one = trial();
    breakDown(one, 5);
    one.pass(600_000 - 1);
    expect(one.state).toBe('open');
    one.pass(1);
    expect(one.state).toBe('half_open');
  });

  test('is noticed whatever one account that is still served does', () => {
    using one = trial();
    one.call('chatty', null);
    breakDown(one, 5);
    for (let count = 0; count < 1_000; count += 1) expect(one.call('chatty', null)).toBe(true);
    expect([one.state, one.isOpenFor('newcomer')]).toEqual(['open', false]);
  });

  test('is not assumed while more accounts are served than fail', () => {
    using one = trial();
    for (const account of names(11)) one.call(account, null);
    for (const account of names(5)) for (let count = 0; count < 5; count += 1) one.call(account, serverError);
    expect([one.state, one.isOpenFor('newcomer')]).toEqual(['closed', true]);
    one.call('account 5', serverError);
    expect([one.state, one.isOpenFor('newcomer')]).toEqual(['open', false]);
  });

  test('takes as many accounts as the catalogue asks for failures, if that is more than five', () => {
    using one = trial({ failures: 8, openMs });
    breakDown(one, 7);
    expect(one.state).toBe('closed');
    one.call('account 7', null);
    one.call('account 7', serverError);
    expect(one.state).toBe('open');
  });

  test('somebody who may have another account is served like the others, but is no evidence', () => {
    using one = trial();
    breakDown(one, 4);
    one.gate.enter('user', false)?.succeeded();
    one.gate.enter('user', false)?.failed(serverError);
    expect(one.state).toBe('closed');
  });
});

describe('witnesses', () => {
  const call = fc.record({
    account: fc.integer({ min: 0, max: 15 }),
    isFailure: fc.boolean(),
    waitMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 700_000 })),
  });

  test('are counted as a slow and obvious count does', () => {
    fc.assert(
      fc.property(fc.array(call, { maxLength: 200 }), (calls) => {
        const witnesses = new Witnesses();
        const last = new Map<number, { isFailure: boolean; atMs: number }>();
        let nowMs = 0;
        for (const { account, isFailure, waitMs } of calls) {
          nowMs += waitMs;
          for (const [other, { atMs }] of last) if (nowMs - atMs >= 600_000) last.delete(other);
          if (isFailure) witnesses.noteFailure(`${account}`, true, nowMs);
          else witnesses.noteSuccess(`${account}`, nowMs);
          if (!isFailure || last.has(account)) last.set(account, { isFailure, atMs: nowMs });
          const failing = [...last.values()].filter((one) => one.isFailure).length;
          const expected = failing >= 5 && failing >= last.size - failing;
          expect(witnesses.areManyFailing(settings, nowMs)).toBe(expected);
          for (let each = 0; each < 16; each += 1)
            expect(witnesses.isServed(`${each}`, nowMs)).toBe(last.get(each)?.isFailure === false);
        }
      }),
    );
  });

  test('are forgotten after ten minutes', () => {
    const witnesses = new Witnesses();
    for (const account of names(5)) witnesses.noteSuccess(account, 0);
    expect([599_999, 600_000].map((nowMs) => witnesses.isServed('account 0', nowMs))).toEqual([true, false]);
    for (const account of names(5)) witnesses.noteFailure(account, true, 600_000);
    expect(witnesses.areManyFailing(settings, 600_000)).toBe(false);
  });

  test('are at most 500, those that called last', () => {
    const witnesses = new Witnesses();
    for (const account of names(501)) witnesses.noteSuccess(account, 0);
    expect([0, 1, 500].map((number) => witnesses.isServed(`account ${number}`, 0))).toEqual([
      false,
      true,
      true,
    ]);
    // Half of 500.
    for (const account of names(250)) witnesses.noteFailure(account, true, 0);
    expect(witnesses.areManyFailing(settings, 0)).toBe(false);
    witnesses.noteFailure('account 250', true, 0);
    expect(witnesses.areManyFailing(settings, 0)).toBe(true);
  });
});

test('an outage ends at once, and the next begins no sooner than ten times `open_ms` after it began', () => {
  const first = outageAfter(noOutage, true, settings, 0);
  expect(first).toEqual({ isOn: true, startedAtMs: 0 });
  expect(outageAfter(first, true, settings, 1_000_000)).toBe(first);
  const over = outageAfter(first, false, settings, 1);
  expect(over).toEqual({ isOn: false, startedAtMs: 0 });
  expect(outageAfter(over, true, settings, 10 * openMs - 1)).toBe(over);
  expect(outageAfter(over, true, settings, 10 * openMs)).toEqual({ isOn: true, startedAtMs: 10 * openMs });
});
