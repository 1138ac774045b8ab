/** The gate of a provider with several accounts: what happens to one, and what that means for the others. */
import { describe, expect, spyOn, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { ErrorCode } from '../../src/errors.ts';
import { MachineShortage } from '../../src/providers/machine-shortage.ts';
import { ProviderError } from '../../src/providers/upstream.ts';
import { countsFor, failureTable } from '../../src/routing/failures.ts';
import type { Gate, GateEvent, Permit } from '../../src/routing/gate.ts';
import { Gates } from '../../src/routing/gates.ts';
import { noPause, pausedFor } from '../../src/routing/pause.ts';
import { eventually } from '../support/eventually.ts';
import { testProvider as provider } from '../support/provider.ts';

const timeout = new ProviderError('provider_timeout');
const refusedConnection = new ProviderError('provider_unavailable', { isUnreached: true });

function gateWith(failures: number, openMs: number, maxConcurrency = 1000): Gate {
  return new Gates().at(provider({ circuit: { failures, openMs }, maxConcurrency }), 'm');
}

function permitOf(gate: Gate, account: string): Permit {
  const permit = gate.enter(account);
  if (permit === null) throw new Error('The gate lets nobody through.');
  return permit;
}

const failTimes = (gate: Gate, account: string, times: number) => {
  for (let count = 0; count < times; count += 1) permitOf(gate, account).failed(timeout);
};

function isOpenFor(gate: Gate, account: string): boolean {
  const permit = gate.enter(account);
  permit?.withdrawn();
  return permit !== null;
}

describe('circuits', () => {
  test('one account that fails a thousand times shuts nobody else out', () => {
    const gate = gateWith(5, 0);
    failTimes(gate, 'a', 1000);
    expect(isOpenFor(gate, 'b')).toBe(true);
    expect(gate.status(performance.now())?.state).toBe('closed');
  });

  test('an account counts as shut only for as long as its calls would be refused', () => {
    const gate = gateWith(2, 60_000);
    failTimes(gate, 'a', 2);
    permitOf(gate, 'b').failed(
      new ProviderError('provider_rate_limit', { upstreamStatus: 429, retryAfterSeconds: 20 }),
    );
    const shutIn = (ms: number) => gate.status(performance.now() + ms)?.accountsShut;
    expect([shutIn(0), shutIn(30_000), shutIn(70_000)]).toEqual([2, 1, 0]);
  });

  const outcomes = [
    'success',
    'answered',
    'nothing',
    'timeout',
    'server error',
    'unfunded',
    'refused',
  ] as const;
  const step = fc.record({
    kind: fc.constantFrom('begin', 'end'),
    account: fc.constantFrom('a', 'b', 'c'),
    which: fc.nat(10),
    outcome: fc.constantFrom(...outcomes),
  });

  function end(permit: Permit, outcome: (typeof outcomes)[number]): void {
    if (outcome === 'success') permit.succeeded();
    else if (outcome === 'nothing') permit.withdrawn();
    else if (outcome === 'timeout') permit.failed(timeout);
    else if (outcome === 'server error')
      permit.failed(new ProviderError('provider_unavailable', { upstreamStatus: 500 }));
    else if (outcome === 'unfunded')
      permit.failed(new ProviderError('provider_bad_request', { upstreamStatus: 402 }));
    else if (outcome === 'refused')
      permit.failed(new ProviderError('provider_bad_request', { upstreamStatus: 400 }));
    else {
      permit.answered();
      permit.failed(timeout);
    }
  }

  test('for any mix of accounts there is at most one probe at a time, in each circuit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 200 }), (failures, steps) => {
        // Open for no time at all: whenever a circuit is not closed, the next call is its probe.
        const gate = gateWith(failures, 0);
        const underWay: Permit[] = [];
        for (const { kind, account, which, outcome } of steps) {
          if (kind === 'begin') {
            const isProbed = gate.waitMs(account) > 0;
            const permit = gate.enter(account);
            expect(permit === null).toBe(isProbed);
            if (permit !== null) underWay.push(permit);
          } else if (underWay.length > 0) {
            const [ended] = underWay.splice(which % underWay.length, 1);
            if (ended !== undefined) end(ended, outcome);
          }
        }
        for (const permit of underWay) permit.withdrawn();
        // Nothing is left that would keep anyone out for good.
        for (const account of ['a', 'b', 'c']) permitOf(gate, account).succeeded();
      }),
      { numRuns: 300 },
    );
  });

  test('an account with an open circuit is let in by its own probe, and by nothing that others do', () => {
    const gate = gateWith(2, 60_000);
    failTimes(gate, 'a', 2);
    for (let count = 0; count < 50; count += 1) permitOf(gate, 'b').succeeded();
    expect(isOpenFor(gate, 'a')).toBe(false);
    expect(gate.waitMs('a')).toBeGreaterThan(50_000);
    expect(gate.waitMs('b')).toBe(0);
  });

  test('what no request can cause closes it to everyone, and does not count against the account that it happened to', () => {
    const gate = gateWith(2, 0);
    permitOf(gate, 'a').failed(refusedConnection);
    permitOf(gate, 'a').failed(refusedConnection);
    expect(gate.status(performance.now())).toMatchObject({ state: 'open', accountsShut: 0 });
    const probe = permitOf(gate, 'b');
    expect(isOpenFor(gate, 'a')).toBe(false);
    probe.succeeded();
    expect(isOpenFor(gate, 'a')).toBe(true);
  });

  test('whatever the provider answers to a probe, it has been reached with our key, and others are let in', async () => {
    const answers = [
      timeout,
      new ProviderError('provider_unavailable', { upstreamStatus: 500 }),
      new ProviderError('provider_rate_limit', { upstreamStatus: 429, retryAfterSeconds: 0.001 }),
      new ProviderError('provider_bad_request', { upstreamStatus: 400 }),
      new ProviderError('provider_stream_error', { upstreamStatus: 200 }),
    ];
    for (const answer of answers) {
      const gate = gateWith(2, 0);
      for (const account of ['a', 'b']) permitOf(gate, account).failed(refusedConnection);
      permitOf(gate, 'a').failed(answer);
      // Readers are not told that it works, because nothing has yet.
      expect(gate.status(performance.now())?.state).toBe('half_open');
      await eventually('two at once, after the pause', () => {
        const first = gate.enter('b');
        const second = gate.enter('c');
        first?.withdrawn();
        second?.withdrawn();
        return first !== null && second !== null ? true : null;
      });
    }
  });

  describe('a probe that hangs', () => {
    /** Half a minute each time it opens. `connectMs` is a second. */
    function trial() {
      const gate = gateWith(1, 30_000);
      let nowMs = 0;
      const clock = spyOn(performance, 'now').mockImplementation(() => nowMs);
      permitOf(gate, 'a').failed(refusedConnection);
      nowMs += 30_000;
      return {
        gate,
        probe: permitOf(gate, 'a'),
        pass: (ms: number) => {
          nowMs += ms;
        },
        [Symbol.dispose]: () => clock.mockRestore(),
      };
    }

    test('and could still be connecting, because its money is held first, is waited for', () => {
      using one = trial();
      // The next tick of the deadlines notices that it takes too long.
      one.pass(5_000 + 1_000 + 100);
      expect(isOpenFor(one.gate, 'b')).toBe(false);
      one.probe.failed(refusedConnection);
      expect(one.gate.status(performance.now())?.state).toBe('open');
      one.pass(59_999);
      expect(isOpenFor(one.gate, 'b')).toBe(false);
      one.pass(1);
      expect(isOpenFor(one.gate, 'b')).toBe(true);
    });

    test('for longer than that keeps nobody waiting', () => {
      using one = trial();
      one.pass(10_999);
      expect(isOpenFor(one.gate, 'b')).toBe(false);
      one.pass(1);
      expect(isOpenFor(one.gate, 'b')).toBe(true);
      expect(one.gate.status(performance.now())?.state).toBe('half_open');
      // Its outcome is no longer that of a probe.
      one.probe.failed(refusedConnection);
      expect(isOpenFor(one.gate, 'b')).toBe(true);
    });
  });

  test('what is remembered about accounts is bounded', () => {
    const gate = gateWith(1, 60_000);
    const permits = Array.from({ length: 502 }, (_, number) => permitOf(gate, `${number}`));
    const [first, second, ...others] = permits;
    for (const permit of [second, first, ...others]) permit?.failed(timeout);
    expect(gate.status(performance.now())?.accountsShut).toBe(500);
  });
});

test('a resource that this machine lacks is named, and counts against nobody', () => {
  const events: GateEvent[] = [];
  const gates = new Gates((event) => events.push(event));
  const gate = gates.at(provider({ name: 'Name', circuit: { failures: 1, openMs: 0 } }), 'm');
  permitOf(gate, 'a').failed(new MachineShortage('EMFILE'));
  expect(gate.status(performance.now())).toBeNull();
  expect(events).toEqual([{ provider: 'Name', model: 'm', kind: 'short', shortage: 'EMFILE' }]);
  // Nor does it use up a probe.
  permitOf(gate, 'a').failed(refusedConnection);
  permitOf(gate, 'b').failed(new MachineShortage('EADDRNOTAVAIL'));
  expect(gate.status(performance.now())?.state).toBe('open');
  permitOf(gate, 'b').succeeded();
  expect(gate.status(performance.now())).toBeNull();
});

describe('a pause', () => {
  test('applies to the account that was told of it, even if it affects nobody else', () => {
    const gate = gateWith(5, 60_000);
    let nowMs = 0;
    using _clock = spyOn(performance, 'now').mockImplementation(() => nowMs);
    permitOf(gate, 'a').failed(
      new ProviderError('provider_rate_limit', { upstreamStatus: 429, retryAfterSeconds: 600 }),
    );
    expect(isOpenFor(gate, 'b')).toBe(false);
    nowMs += gate.waitMs('b');
    expect(isOpenFor(gate, 'b')).toBe(true);
    expect(isOpenFor(gate, 'a')).toBe(false);
  });

  const minuteMs = 60_000;

  test('is short for everyone, even if two accounts were told of it, which themselves wait in full', () => {
    const gate = gateWith(5, 60_000);
    const permits = ['a', 'b'].map((account) => permitOf(gate, account));
    for (const permit of permits)
      permit.failed(
        new ProviderError('provider_rate_limit', { upstreamStatus: 429, retryAfterSeconds: 600 }),
      );
    for (const account of ['a', 'b']) expect(gate.waitMs(account)).toBeGreaterThan(599_000);
    expect(gate.waitMs('c')).toBeWithin(9_000, 10_001);
  });

  test('short ones add up to ten seconds, and start over after a minute', () => {
    let pause = noPause;
    const untils = [0, 4_000, 8_000, 12_000, 60_000].map((nowMs) => {
      pause = pausedFor(pause, 4_000, nowMs);
      return pause.untilMs;
    });
    expect(untils).toEqual([4_000, 8_000, 10_000, 12_000, 64_000]);
  });

  test('one that is over before another adds nothing to it', () => {
    const long = pausedFor(noPause, 9_000, 0);
    expect(pausedFor(long, 2_000, 1_000)).toEqual(long);
  });

  test('any number of accounts keep the others waiting for ten seconds in a minute at most', () => {
    const answers = fc.array(
      fc.record({ waitMs: fc.nat(10_000), askedMs: fc.integer({ min: 1, max: 3_600_000 }) }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(answers, (told) => {
        let pause = noPause;
        let nowMs = 0;
        let pausedMs = 0;
        for (const { waitMs, askedMs } of told) {
          nowMs += waitMs;
          const before = Math.max(pause.untilMs, nowMs);
          pause = pausedFor(pause, askedMs, nowMs);
          pausedMs += Math.max(0, pause.untilMs - before);
        }
        expect(pausedMs).toBeLessThanOrEqual(10_000 * (1 + Math.floor(nowMs / minuteMs)));
      }),
    );
  });
});

describe('what a failure says', () => {
  const cases: readonly [ErrorCode, number | null, string][] = [
    ['provider_bad_request', 400, 'nobody'],
    ['provider_bad_request', 413, 'nobody'],
    ['provider_bad_request', 422, 'nobody'],
    ['provider_bad_request', 402, 'account'],
    ['provider_bad_request', 404, 'account'],
    ['provider_bad_request', 410, 'account'],
    ['provider_authentication_error', 401, 'everyone'],
    ['provider_authentication_error', 400, 'everyone'],
    ['provider_authentication_error', 403, 'account'],
    ['provider_timeout', null, 'account'],
    ['provider_timeout', 408, 'account'],
    ['provider_unavailable', 503, 'account'],
    ['provider_unavailable', null, 'account'],
    ['provider_stream_error', 200, 'account'],
    ['provider_rate_limit', 429, 'account'],
    ['repeated_streaming_chunk_limit', 200, 'nobody'],
  ];

  test.each(cases)('%s with status %p counts for %s', (code, status, whom) => {
    expect(countsFor(new ProviderError(code, { upstreamStatus: status }))).toBe(whom as 'nobody');
  });

  test('a connection that was never made counts for everyone, whatever it is called', () => {
    for (const code of [
      'provider_unavailable',
      'provider_timeout',
      'provider_unknown_error',
      'provider_error',
    ] as const)
      expect(countsFor(new ProviderError(code, { isUnreached: true }))).toBe('everyone');
  });

  test('the table in the documentation is the one in the code', () => {
    const text = readFileSync(join(import.meta.dir, '../../docs/catalog.md'), 'utf8');
    const words = { everyone: 'everyone', account: 'the account that asked', nobody: 'nobody' };
    const rows = failureTable.map((row) => `| ${row.failure} | ${words[row.countsFor]} |`);
    expect(text).toContain(rows.join('\n'));
  });
});
