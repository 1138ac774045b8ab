/** The circuit of a provider, against a slow and obvious model of the same rules. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { backOffMs } from '../../src/lib/back-off.ts';
import {
  beginCall,
  type Circuit,
  canBegin,
  closedCircuit,
  endCall,
  isProbe,
  openUntil,
  type Verdict,
  waitMs,
} from '../../src/routing/circuit.ts';

const settings = { failures: 5, openMs: 30_000 };

/** A circuit with its calls in progress, driven step by step. */
function drive(circuitSettings = settings) {
  let circuit: Circuit = closedCircuit;
  let nowMs = 0;
  return {
    get circuit() {
      return circuit;
    },
    get nowMs() {
      return nowMs;
    },
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** The era of the call, or null when it is refused. */
    begin: (): number | null => {
      if (!canBegin(circuit, nowMs)) return null;
      circuit = beginCall(circuit);
      return circuit.era;
    },
    end: (era: number, verdict: Verdict) => {
      circuit = endCall(circuit, era, verdict, circuitSettings, nowMs);
    },
    call(verdict: Verdict): boolean {
      const era = this.begin();
      if (era !== null) this.end(era, verdict);
      return era !== null;
    },
  };
}

type Driver = ReturnType<typeof drive>;

function open(driver: Driver): void {
  for (let count = 0; count < 5; count += 1) driver.call('failure');
  expect(driver.circuit.state).toBe('open');
}

test('opens after five failures in a row, not after four', () => {
  const driver = drive();
  for (let count = 0; count < 4; count += 1) driver.call('failure');
  expect(driver.circuit.state).toBe('closed');
  driver.call('failure');
  expect(driver.circuit.state).toBe('open');
});

test('opens when half of the last twenty have failed, never five in a row', () => {
  const driver = drive();
  for (let count = 0; count < 9; count += 1) {
    driver.call('failure');
    driver.call('success');
  }
  expect(driver.circuit.state).toBe('closed');
  driver.call('failure');
  expect(driver.circuit.state).toBe('open');
});

const verdict = fc.constantFrom<Verdict>('success', 'success', 'success', 'failure', 'failure', 'nothing');

test('opens exactly when the rule says so, for any sequence of outcomes', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.array(verdict, { minLength: 60, maxLength: 200 }),
      (failures, verdicts) => {
        const driver = drive({ failures, openMs: 30_000 });
        const outcomes: boolean[] = [];
        for (const one of verdicts) {
          if (driver.circuit.state !== 'closed') break;
          driver.call(one);
          if (one === 'nothing') continue;
          outcomes.push(one === 'failure');
          const isInARow = outcomes.length >= failures && outcomes.slice(-failures).every(Boolean);
          const recent = outcomes.slice(-4 * failures).filter(Boolean).length;
          // Only a failure can open it: a success may push failures out of sight, never in.
          const mustOpen = one === 'failure' && (isInARow || recent >= 2 * failures);
          expect<string>(driver.circuit.state).toBe(mustOpen ? 'open' : 'closed');
        }
      },
    ),
  );
});

type Step =
  | { kind: 'begin' }
  | { kind: 'end'; which: number; verdict: Verdict }
  | { kind: 'pass'; ms: number };
const step = fc.oneof(
  fc.constant<Step>({ kind: 'begin' }),
  fc.record({ kind: fc.constant('end' as const), which: fc.nat(20), verdict }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 40_000 }) }),
);

test('any mix of calls: none while open, one probe at a time, and only the probe decides', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 50, maxLength: 300 }), (steps) => {
      const driver = drive({ failures: 2, openMs: 30_000 });
      const underWay: { era: number; isProbe: boolean }[] = [];
      for (const one of steps) {
        const before = driver.circuit;
        if (one.kind === 'pass') driver.pass(one.ms);
        if (one.kind === 'begin') {
          const era = driver.begin();
          if (before.state === 'open') expect(era !== null).toBe(driver.nowMs >= before.untilMs);
          if (before.state === 'half_open') expect(era).toBeNull();
          if (before.state === 'closed') expect(era).not.toBeNull();
          if (era !== null) underWay.push({ era, isProbe: before.state !== 'closed' });
        }
        if (one.kind === 'end' && underWay.length > 0) {
          const [call] = underWay.splice(one.which % underWay.length, 1);
          if (call === undefined) throw new Error('There is a call.');
          driver.end(call.era, one.verdict);
          // A call that began before the circuit opened no longer changes anything.
          if (before.state !== 'closed' && !call.isProbe) expect(driver.circuit).toBe(before);
          if (before.state === 'half_open' && call.isProbe) {
            const next = { success: 'closed', failure: 'open', nothing: 'open' } as const;
            expect(driver.circuit.state).toBe(next[one.verdict]);
          }
        }
        const probes = underWay.filter(({ isProbe, era }) => isProbe && era === driver.circuit.era);
        expect(probes.length).toBe(driver.circuit.state === 'half_open' ? 1 : 0);
      }
    }),
    { numRuns: 300 },
  );
});

test('a success that was in progress when the circuit opened does not close it', () => {
  const driver = drive();
  const early = driver.begin();
  open(driver);
  if (early === null) throw new Error('The circuit was closed.');
  driver.end(early, 'success');
  expect(driver.circuit.state).toBe('open');
  driver.pass(30_000);
  const probe = driver.begin();
  driver.end(early, 'success');
  expect(driver.circuit.state).toBe('half_open');
  if (probe === null) throw new Error('One probe is let through.');
  driver.end(probe, 'success');
  expect(driver.circuit.state).toBe('closed');
});

test('each failed probe doubles the time, up to five minutes, and success starts it over', () => {
  const driver = drive();
  open(driver);
  for (const seconds of [30, 60, 120, 240, 300, 300]) {
    expect(waitMs(driver.circuit, driver.nowMs)).toBe(seconds * 1000);
    driver.pass(seconds * 1000 - 1);
    expect(driver.begin()).toBeNull();
    driver.pass(1);
    driver.call('failure');
  }
  driver.pass(300_000);
  expect(driver.call('success')).toBe(true);
  expect(driver.circuit.state).toBe('closed');
  open(driver);
  expect(waitMs(driver.circuit, driver.nowMs)).toBe(30_000);
});

test('a probe without a result makes way for the next at once', () => {
  const driver = drive();
  open(driver);
  driver.pass(30_000);
  driver.call('nothing');
  expect(driver.circuit.state).toBe('open');
  expect(driver.begin()).not.toBeNull();
  expect(driver.begin()).toBeNull();
});

test('a time longer than five minutes is kept as configured', () => {
  const driver = drive({ failures: 1, openMs: 900_000 });
  driver.call('failure');
  expect(waitMs(driver.circuit, driver.nowMs)).toBe(900_000);
});

test('what is remembered about a failing provider stays bounded', () => {
  const driver = drive({ failures: 1000, openMs: 1 });
  for (let count = 0; count < 20_000; count += 1) driver.call(count % 5 === 0 ? 'failure' : 'success');
  if (driver.circuit.state !== 'closed') throw new Error('A fifth is not a half.');
  expect(driver.circuit.failures.length).toBeLessThanOrEqual(800);
});

test('a circuit begins closed, with nothing remembered, and forgets everything once no failure is left', () => {
  expect(closedCircuit).toEqual({ state: 'closed', era: 0, count: 0, failures: [] });
  const driver = drive();
  driver.call('failure');
  expect(driver.circuit).toEqual({ state: 'closed', era: 0, count: 1, failures: [1] });
  for (let count = 0; count < 19; count += 1) driver.call('success');
  expect(driver.circuit).toMatchObject({ count: 20, failures: [1] });
  driver.call('success');
  expect(driver.circuit).toEqual(closedCircuit);
});

test('every state has its own era, so that no call is taken for another', () => {
  const driver = drive();
  const eras: number[] = [];
  const note = () => eras.push(driver.circuit.era);
  note();
  open(driver);
  note();
  driver.pass(30_000);
  for (const verdict of ['nothing', 'failure'] as const) {
    const era = driver.begin();
    note();
    driver.end(era ?? 0, verdict);
    note();
  }
  driver.pass(60_000);
  driver.begin();
  note();
  driver.end(driver.circuit.era, 'success');
  note();
  expect(eras).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(driver.circuit).toEqual({ ...closedCircuit, era: 7 });
});

test('a circuit that begins open has opened once', () => {
  const open = openUntil({ ...closedCircuit, era: 4 }, 1_000);
  expect(open).toEqual({ state: 'open', era: 5, untilMs: 1_000, openings: 1 });
  const probed = endCall(beginCall(open), 6, 'failure', settings, 1_000);
  expect(waitMs(probed, 1_000)).toBe(60_000);
});

test('only the call that half-opened it is the probe', () => {
  const half: Circuit = { state: 'half_open', era: 3, openings: 1 };
  expect([2, 3, 4].map((era) => isProbe(half, era))).toEqual([false, true, false]);
  expect(isProbe(closedCircuit, closedCircuit.era)).toBe(false);
  expect(isProbe(openUntil(closedCircuit, 0), 1)).toBe(false);
});

test('nothing that ends while it is open changes it', () => {
  const shut = openUntil(closedCircuit, 30_000);
  for (const one of ['success', 'failure', 'nothing'] as const)
    expect(endCall(shut, shut.era, one, settings, 0)).toBe(shut);
});

test('there is no wait when closed, the rest of the time when open, a second while a probe runs', () => {
  const shut = openUntil(closedCircuit, 30_000);
  expect(waitMs(closedCircuit, 0)).toBe(0);
  expect(waitMs(shut, 29_000)).toBe(1_000);
  expect(waitMs(shut, 31_000)).toBe(0);
  expect(waitMs(beginCall(shut), 30_000)).toBe(1_000);
});

test('a back-off doubles from its first time to its maximum', () => {
  expect([0, 1, 2, 3, 4].map((attempt) => backOffMs(attempt, 100, 1_000))).toEqual([
    100, 200, 400, 800, 1_000,
  ]);
  expect(backOffMs(5_000, 100, 1_000)).toBe(1_000);
});
