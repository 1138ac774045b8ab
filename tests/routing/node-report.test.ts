/** What a node reports: its providers' failures, and that reporting never costs it its lease. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import fc from 'fast-check';
import { openLedger } from '../../src/ledger/ledger.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import type { Catalog } from '../../src/models/model.ts';
import { defaultTimings } from '../../src/nodes/heartbeat.ts';
import { takeLease } from '../../src/nodes/lease.ts';
import { chatAdapters } from '../../src/providers/chat-call.ts';
import { ProviderError } from '../../src/providers/upstream.ts';
import type { ActiveCatalog } from '../../src/routing/active-catalog.ts';
import type { Candidate } from '../../src/routing/candidates.ts';
import type { Gate } from '../../src/routing/gate.ts';
import { Gates } from '../../src/routing/gates.ts';
import { readReport, reportOf } from '../../src/routing/node-report.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { temporaryFolder } from '../support/gateway.ts';
import { testProvider as provider } from '../support/provider.ts';

/** A refused connection, which counts for everyone. */
const failed = new ProviderError('provider_unavailable', { isUnreached: true });
const nothingElse = { failingSince: null, accountsShut: 0, setback: null };
const failing = { ...nothingElse, failingSince: expect.any(Date) as Date };

function permitOf(gate: Gate, account = 'a') {
  const permit = gate.enter(account);
  if (permit === null) throw new Error('The gate lets nobody through.');
  return permit;
}

const fail = (gate: Gate) => permitOf(gate).failed(failed);

test('a gate has something to report as soon as a call has failed, and until one succeeds', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 3, openMs: 60_000 } }), 'm');
  const status = () => gate.status(performance.now());
  expect(status()).toBeNull();
  permitOf(gate).succeeded();
  permitOf(gate).withdrawn();
  expect(status()).toBeNull();
  fail(gate);
  expect(status()).toEqual({ state: 'closed', consecutiveFailures: 1, untilMs: null, ...nothingElse });
  permitOf(gate).succeeded();
  expect(status()).toBeNull();
  fail(gate);
  fail(gate);
  const early = permitOf(gate);
  fail(gate);
  const openUntilMs = performance.now() + 60_000;
  expect(status()).toEqual({
    state: 'open',
    consecutiveFailures: 3,
    untilMs: expect.any(Number),
    ...failing,
  });
  expect(Math.abs((status()?.untilMs ?? 0) - openUntilMs)).toBeLessThan(5_000);
  // A call from before the circuit opened says nothing about it.
  early.succeeded();
  expect(status()?.consecutiveFailures).toBe(3);
});

test('while a probe is in progress there is nothing to wait for', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 0 } }), 'm');
  fail(gate);
  const probe = permitOf(gate);
  expect(gate.status(performance.now())).toEqual({
    state: 'half_open',
    consecutiveFailures: 1,
    untilMs: null,
    ...failing,
  });
  probe.succeeded();
  expect(gate.status(performance.now())).toBeNull();
});

test('what was shut for everyone is not shown as closed before a call has succeeded', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 0 } }), 'm');
  const state = () => gate.status(performance.now())?.state;
  fail(gate);
  // Any answer to a probe lets others through, but this one shows nothing that works.
  permitOf(gate).failed(new ProviderError('provider_unavailable', { upstreamStatus: 500 }));
  expect(state()).toBe('half_open');
  const answering = permitOf(gate, 'b');
  answering.answered();
  expect(state()).toBe('half_open');
  answering.failed(new ProviderError('provider_timeout'));
  expect(state()).toBe('half_open');
  permitOf(gate, 'c').succeeded();
  expect(state()).not.toBe('half_open');
  fail(gate);
  const long = permitOf(gate, 'd');
  long.answered();
  expect(state()).toBe('half_open');
  long.succeeded();
  expect(state()).not.toBe('half_open');
});

test('an outage that nobody asks about any more is not shown as over before a call has succeeded', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 1 } }), 'm');
  const accounts = ['a', 'b', 'c', 'd', 'e'];
  for (const account of accounts) permitOf(gate, account).succeeded();
  for (const account of accounts) permitOf(gate, account).failed(new ProviderError('provider_timeout'));
  expect(gate.status(performance.now())?.state).toBe('open');
  const anHour = performance.now() + 3_600_000;
  expect(gate.status(anHour)).toMatchObject({ state: 'half_open', untilMs: null });
  permitOf(gate, 'f').succeeded();
  expect(gate.status(anHour)?.state).not.toBe('half_open');
});

test('a pause is reported until it is over', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 60_000 } }), 'm');
  permitOf(gate).failed(
    new ProviderError('provider_rate_limit', { upstreamStatus: 429, retryAfterSeconds: 30 }),
  );
  const paused = gate.status(performance.now());
  expect(paused).toEqual({
    state: 'closed',
    consecutiveFailures: 0,
    untilMs: expect.any(Number),
    ...nothingElse,
    accountsShut: 1,
  });
  const after = gate.status((paused?.untilMs ?? 0) + 1);
  expect(after).toMatchObject({ untilMs: null, accountsShut: 1 });
  expect(gate.status(performance.now() + 30_001)).toBeNull();
});

test('of a pause and an open circuit the longer is reported', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 1_000 } }), 'm');
  const [first, second] = [permitOf(gate), permitOf(gate)];
  first.failed(failed);
  second.failed(new ProviderError('provider_rate_limit', { upstreamStatus: 429, retryAfterSeconds: 600 }));
  const { state, untilMs } = gate.status(performance.now()) ?? {};
  expect(state).toBe('open');
  expect((untilMs ?? 0) - performance.now()).toBeGreaterThan(2_000);
});

function catalogWith(gate: Gate, problems: readonly string[] | null) {
  const connection = { provider: provider({ id: 'p' }) } as Candidate['connection'];
  const candidate: Candidate = {
    connection,
    chat: chatAdapters.openai,
    upstreamModel: 'vendor/m',
    weight: null,
    cost: null,
    gate,
    marksCache: false,
    reasoning: null,
    takesVerbosity: false,
  };
  const active = {
    catalog: { priceVersion: '2026-11' } as Catalog,
    candidates: new Map([
      ['__proto__', [candidate]],
      ['alias', [candidate]],
    ]),
  } as unknown as ActiveCatalog;
  const lastError = problems === null ? null : { at: new Date(0), problems };
  return { current: () => active, status: () => ({ loadedAt: new Date(0), lastError }) };
}

test('a report names models as customers do, and is the same a moment later', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 60_000 } }), 'vendor/m');
  const catalog = catalogWith(gate, null);
  expect(reportOf(catalog)).toEqual({ circuits: [], price_version: '2026-11', catalog_error: null });
  fail(gate);
  const untilMs = gate.status(performance.now())?.untilMs ?? 0;
  const nowMs = Date.parse('2026-11-15T00:00:00.000Z');
  const report = reportOf(catalog, { gateNowMs: untilMs - 30_000, nowMs });
  const circuit = {
    provider: 'p',
    state: 'open',
    consecutive_failures: 1,
    until: '2026-11-15T00:00:30.000Z',
    failing_since: expect.stringMatching(/Z$/) as string,
    accounts_shut: 0,
    setback: null,
  };
  expect(report.circuits).toEqual([
    { ...circuit, model: '__proto__', state: 'open' },
    { ...circuit, model: 'alias', state: 'open' },
  ]);
  // Two clocks are read one after the other.
  expect(reportOf(catalog, { gateNowMs: untilMs - 27_950, nowMs: nowMs + 2_000 })).toEqual(report);
  expect(readReport(JSON.parse(JSON.stringify(report)), nowMs)).toEqual(report);
});

test('a circuit or a pause whose time is over is neither reported nor read as if it lasted', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 60_000 } }), 'm');
  fail(gate);
  const untilMs = gate.status(performance.now())?.untilMs ?? 0;
  const stateAt = (gateNowMs: number) =>
    reportOf(catalogWith(gate, null), { gateNowMs, nowMs: 1_800_000_000_000 }).circuits[0];
  expect(stateAt(untilMs - 1_000)).toMatchObject({ state: 'open', until: expect.any(String) });
  expect(stateAt(untilMs + 3_600_000)).toMatchObject({ state: 'half_open', until: null });
  const endedMs = Date.parse('2026-11-15T00:00:30.000Z');
  const read = (state: string, nowMs: number) =>
    readReport(
      {
        circuits: [
          {
            provider: 'p',
            model: 'm',
            state,
            consecutive_failures: 1,
            until: new Date(endedMs).toISOString(),
          },
        ],
        price_version: '1',
        catalog_error: null,
      },
      nowMs,
    )?.circuits[0];
  expect(read('open', endedMs - 1)).toMatchObject({ state: 'open', until: '2026-11-15T00:00:30.000Z' });
  expect(read('open', endedMs)).toMatchObject({ state: 'half_open', until: null });
  expect(read('closed', endedMs)).toMatchObject({ state: 'closed', until: null });
});

test('failures of single accounts are reported as a number of accounts', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 1, openMs: 60_000 } }), 'm');
  permitOf(gate).failed(new ProviderError('provider_timeout'));
  expect(gate.status(performance.now())).toMatchObject({ state: 'closed', accountsShut: 1, untilMs: null });
});

test.each([
  ['key', 'provider_authentication_error', 401],
  ['key', 'provider_authentication_error', 403],
  ['key', 'provider_authentication_error', 400],
  ['credit', 'provider_bad_request', 402],
  ['model', 'provider_bad_request', 404],
  ['model', 'provider_bad_request', 410],
] as const)('a setback (%s) by %s %i is told until a call succeeds', (kind, code, upstreamStatus) => {
  const gate = new Gates().at(provider({ circuit: { failures: 5, openMs: 60_000 } }), 'vendor/m');
  const told = () => reportOf(catalogWith(gate, null)).circuits[0]?.setback;
  permitOf(gate).failed(new ProviderError(code, { upstreamStatus }));
  const setback = { kind, upstream_status: upstreamStatus, at: expect.stringMatching(/Z$/) };
  expect(told()).toEqual(setback);
  // Other failures do not clear it.
  permitOf(gate, 'b').failed(new ProviderError('provider_unavailable', { upstreamStatus: 503 }));
  permitOf(gate, 'b').withdrawn();
  expect(told()).toEqual(setback);
  permitOf(gate, 'b').succeeded();
  expect(told()).toBeUndefined();
});

test('other failures are no setback', () => {
  const gate = new Gates().at(provider({ circuit: { failures: 50, openMs: 60_000 } }), 'vendor/m');
  for (const status of [400, 413, 422, 409])
    permitOf(gate).failed(new ProviderError('provider_bad_request', { upstreamStatus: status }));
  permitOf(gate).failed(new ProviderError('provider_unavailable', { upstreamStatus: 500 }));
  expect(gate.status(performance.now())?.setback).toBeNull();
});

test('a report of a version without accounts and setbacks is still read', () => {
  const circuit = { provider: 'p', model: 'm', state: 'open', consecutive_failures: 5, until: null };
  const report = readReport({ circuits: [circuit], price_version: '1', catalog_error: null });
  expect(report?.circuits).toMatchObject([{ ...circuit, accounts_shut: 0, setback: null }]);
});

test('a catalogue that is wrong throughout does not make the report long', () => {
  const gate = new Gates().at(provider(), 'm');
  const { catalog_error: told } = reportOf(
    catalogWith(
      gate,
      Array.from({ length: 1000 }, (_, line) => `${line}: ${'x'.repeat(10_000)}`),
    ),
  );
  expect(told).toEndWith('\nand 997 more');
  expect(told?.length).toBeLessThan(2_000);
  expect(reportOf(catalogWith(gate, ['one', 'two'])).catalog_error).toBe('one\ntwo');
});

test('whatever another version has stored is read or left alone', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (stored) => {
      expect(readReport(stored)).toBeNull();
    }),
  );
});

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.close());

test('the heartbeat carries the report, when it has changed, and beats without one too', async () => {
  const connection = { url: database.url, max: 1 };
  const warnings: string[] = [];
  const log = createLog('warn', (line) => warnings.push(line));
  const id = newId();
  const ledger = openLedger(() => new SQL(connection), openSpool(temporaryFolder(), process.pid, id), log);
  let report = () => ({ word: 'first' });
  const lease = await takeLease({
    connection,
    ledger,
    node: { id, name: 'told' },
    log,
    report: () => report(),
    timings: { ...defaultTimings, beatMs: 100 },
  });
  const stored = async () => {
    const [row] = await database.sql<[{ report: unknown; heartbeat_at: Date }]>`
      select report, heartbeat_at from nodes where id = ${id}`;
    return row;
  };
  const nextBeat = async () => {
    const before = (await stored()).heartbeat_at.getTime();
    while ((await stored()).heartbeat_at.getTime() === before) await Bun.sleep(20);
  };
  expect((await stored()).report).toEqual({ word: 'first' });
  // What is stored stays as long as there is nothing new to report.
  await database.sql`update nodes set report = '{"word": "kept"}' where id = ${id}`;
  await nextBeat();
  expect((await stored()).report).toEqual({ word: 'kept' });
  report = () => ({ word: 'second' });
  while (!Bun.deepEquals((await stored()).report, { word: 'second' })) await nextBeat();
  report = () => {
    throw new Error('defect');
  };
  while ((await stored()).report !== null) await nextBeat();
  expect(warnings.join('')).toContain('report failed');
  await lease.stop();
  await ledger.close();
}, 60_000);
