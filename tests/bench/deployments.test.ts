/** What `--deployments` asks of whom, and what it makes of the figures. */
import { describe, expect, test } from 'bun:test';
import type { Deployment } from '../../bench/deployment.ts';
import {
  areDeploymentsSound,
  crowdSample,
  type DeploymentResults,
  newScenarioResults,
} from '../../bench/deployment-results.ts';
import {
  accountCount,
  callApart,
  type DeploymentScenarioName,
  deploymentScenarios,
  rolesOf,
} from '../../bench/deployment-scenarios.ts';
import { deploymentsReport } from '../../bench/deployments-report.ts';
import type { RunningGateway } from '../../bench/gateway.ts';
import { Counts, type Sample } from '../../bench/measure.ts';
import type { Target } from '../../bench/scenarios.ts';

const gatewayAt = (port: number): RunningGateway => ({
  port,
  processId: port,
  dataFolder: '',
  complaints: () => [],
  stop: () => Promise.resolve(),
  audit: () => Promise.resolve({ exitCode: 0, stdout: '' }),
  command: () => Promise.reject(new Error('There is no program.')),
  onStop: () => undefined,
});

const deployment: Omit<Deployment, 'sql'> = {
  name: 'gateway',
  near: [1, 2, 3].map(gatewayAt),
  far: gatewayAt(4),
  owners: Array.from({ length: accountCount }, (_, index) => ({
    accountId: `account-${index}`,
    keyId: `key-id-${index}`,
    key: `key-${index}`,
  })),
  subject: (gateways, targets) => ({
    name: 'gateway',
    targets,
    cpu: () => ({ own: gateways.length, postgres: 1 }),
    residentBytes: () => 0,
  }),
};
const scenarios = deploymentScenarios(500);
const situationOf = (name: DeploymentScenarioName) => scenarios[name].situation(deployment as Deployment);
const portsOf = (targets: readonly Target[] = []) => targets.map(({ port }) => port);
const keysOf = (targets: readonly Target[] = []) => new Set(targets.flatMap(({ keys }) => keys));

describe('a situation', () => {
  test('of three gateways spreads the same accounts over all of them', () => {
    const { targets, cpu } = situationOf('sharedAccounts').subject;
    expect(portsOf(targets)).toEqual([1, 2, 3]);
    expect(cpu().own).toBe(3);
    for (const one of targets) expect(keysOf([one]).size).toBeGreaterThan(500);
    const orders = targets.map(({ keys }) => keys.join());
    expect(new Set(orders).size).toBe(3);
    const hot = situationOf('oneAccount').subject.targets;
    expect([portsOf(hot), keysOf(hot).size]).toEqual([[1, 2, 3], 1]);
  });

  test('of neighbours differs only in what the crowd uses', () => {
    const alone = situationOf('neighboursAlone');
    expect([portsOf(alone.subject.targets), keysOf(alone.subject.targets).size]).toEqual([[1], 16]);
    expect(alone.crowd).toBeUndefined();
    const [ofTwo, ofShared] = [situationOf('neighboursOfTwo'), situationOf('neighboursOfShared')];
    for (const { subject, crowd } of [ofTwo, ofShared]) {
      expect(keysOf(subject.targets)).toEqual(keysOf(alone.subject.targets));
      expect(portsOf(crowd?.targets)).toEqual([1, 2]);
      expect(keysOf(crowd?.targets).isDisjointFrom(keysOf(subject.targets))).toBe(true);
      expect(subject.cpu().own).toBeNaN();
    }
    expect(ofTwo.crowd?.targets.map(({ keys }) => keys.length)).toEqual([1, 1]);
    expect([keysOf(ofTwo.crowd?.targets).size, keysOf(ofShared.crowd?.targets).size]).toEqual([2, 1]);
  });

  test('of a locked account has clients of that account, and others on the same gateway', () => {
    const { subject, crowd, lockedAccountId } = situationOf('locked');
    const { locked } = rolesOf(deployment);
    expect(lockedAccountId).toBe(locked.accountId);
    expect([...keysOf(crowd?.targets)]).toEqual([locked.key]);
    expect(keysOf(subject.targets).has(locked.key)).toBe(false);
    expect([portsOf(subject.targets), portsOf(crowd?.targets)]).toEqual([[1], [1]]);
  });

  test('with PostgreSQL near or far differs in nothing else', () => {
    for (const kind of ['json', 'stream', 'arrivals'] as const) {
      const {
        title: nearTitle,
        hasDirect: _,
        situation: __,
        ...near
      } = { hasDirect: 0, ...scenarios[`${kind}Near`] };
      const { title: farTitle, situation: ___, ...far } = scenarios[`${kind}Far`];
      expect(far).toEqual(near);
      expect(farTitle).not.toBe(nearTitle);
      expect(portsOf(situationOf(`${kind}Near`).subject.targets)).toEqual([1]);
      expect(portsOf(situationOf(`${kind}Far`).subject.targets)).toEqual([4]);
    }
  });

  test('before anything is measured gives each gateway accounts of its own', () => {
    const { targets } = callApart(deployment as Deployment, [...deployment.near, deployment.far]).subject;
    expect(targets.map(({ keys }) => keys.length)).toEqual([250, 250, 250, 250]);
    expect(keysOf(targets).size).toBe(1_000);
  });
});

const sample: Sample = {
  perSecond: 100,
  cpuMicroseconds: 300,
  postgresMicroseconds: 200,
  p50Ms: 10,
  p99Ms: 20,
  calledP50Ms: 2,
  chunksPerRead: 1,
  connectionsPerRequest: 0,
  loadCores: 0.1,
};

/**
 * Two rounds, the second on a machine that is twice as fast. In the first, the older version is half as fast when it shares
 * an account, or when its database is far.
 */
function goodRun(): DeploymentResults {
  const results = newScenarioResults(scenarios);
  const { jsonNear, streamNear, neighboursOfShared } = results;
  for (const [name, { samples, crowd }] of Object.entries(results)) {
    const isSlow = name === 'neighboursOfShared' || name.endsWith('Far');
    const slow = { ...sample, perSecond: 50, p50Ms: 19 };
    const second = { ...sample, perSecond: 200 };
    samples.before.push(isSlow ? slow : sample, second);
    samples.gateway.push(sample, second);
    crowd?.samples.gateway.push(sample, second);
    crowd?.samples.before.push(sample, second);
  }
  for (const { samples } of [jsonNear, streamNear])
    samples.direct.push({ ...sample, p50Ms: 1 }, { ...sample, p50Ms: 1 });
  expect(neighboursOfShared.crowd).not.toBeNull();
  return {
    startedAt: new Date('2026-01-02T03:04:05Z'),
    command: 'npm run bench -- --deployments',
    machine: ['2 cores'],
    scenarios: results,
    counts: new Counts(),
    versions: (['before', 'gateway'] as const).map((name) => ({
      name,
      completed: 7,
      charges: 7,
      auditExitCode: 0,
      complaints: [],
    })),
  };
}

/** The cells of the rows of a table, found by the title of its first column. */
function rowsOf(text: string, table: string): string[][] {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => line.split('|')[1]?.trim() === table);
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'));
  return lines.slice(start + 2, end < 0 ? lines.length : end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('the report', () => {
  test('has a row for each version, and direct calls once for both places of the database', () => {
    const rows = rowsOf(deploymentsReport(goodRun()), 'measured');
    const subjectsOf = (text: string) =>
      rows.filter(([title]) => title?.startsWith(text)).map(([, , subject]) => subject);
    expect(subjectsOf('three gateways, one account')).toEqual(['gateway before', 'gateway']);
    expect(subjectsOf('a busy account on two gateways')).toEqual(['gateway before', 'gateway']);
    expect(subjectsOf('JSON after 200 ms, PostgreSQL near')).toEqual([
      'upstream, direct',
      'gateway before',
      'gateway',
    ]);
    expect(subjectsOf('JSON after 200 ms, PostgreSQL 1 ms away')).toEqual(['gateway before', 'gateway']);
    const far = rows.find(
      ([title, , subject]) =>
        title?.includes('JSON after 200 ms, PostgreSQL 1 ms') && subject === 'gateway before',
    );
    expect(far?.[8]).toBe('+13.5');
  });

  test('compares the versions round by round', () => {
    const rows = rowsOf(deploymentsReport(goodRun()), 'gateway ÷ gateway before');
    const row = rows.find(([title]) => title === 'neighbours of a busy account on two gateways');
    expect(row?.slice(1, 7)).toEqual([
      '16',
      '1.00 (1.00–1.00)',
      '1.00 (1.00–1.00)',
      '1.50 (1.00–2.00)',
      '0.76 (0.53–1.00)',
      '1.00 (1.00–1.00)',
    ]);
  });

  test('compares sharing with not sharing, and far with near, within a version', () => {
    const rows = rowsOf(deploymentsReport(goodRun()), 'within a round');
    const cells = ['0.75 (0.50–1.00)', '1.00 (1.00–1.00)', '1.50 (1.00–2.00)'];
    const added = ['1.50 (1.00–2.00)', '1.00 (1.00–1.00)', '0.75 (0.50–1.00)'];
    expect(rows.map(([, figure]) => figure)).toEqual([
      ...['per second', 'p50', 'per second', 'p50'],
      ...['p50 over direct', 'first byte over direct'],
    ]);
    expect(rows[0]?.slice(2)).toEqual(cells);
    expect(rows[2]?.slice(2)).toEqual(cells);
    expect(rows[4]?.slice(2)).toEqual(added);
    expect(rows[5]?.slice(2)).toEqual(added);
  });

  test('works with one version', () => {
    const run = goodRun();
    for (const { samples, crowd } of Object.values(run.scenarios)) {
      samples.before.length = 0;
      if (crowd !== null) crowd.samples.before.length = 0;
    }
    const text = deploymentsReport(run);
    expect(text).not.toContain('gateway ÷ gateway before');
    expect(rowsOf(text, 'within a round')[0]?.slice(1)).toEqual(['per second', '1.00 (1.00–1.00)']);
  });

  test('counts a run only without errors and with the right books', () => {
    const run = goodRun();
    const [before, gateway] = run.versions;
    if (before === undefined || gateway === undefined) throw new Error('There are no versions.');
    expect(areDeploymentsSound(run)).toBe(true);
    expect(deploymentsReport(run)).toContain('This run counts.');
    for (const wrong of [{ charges: 8 }, { completed: 6 }, { auditExitCode: 1 }]) {
      expect(areDeploymentsSound({ ...run, versions: [before, { ...gateway, ...wrong }] })).toBe(false);
      expect(areDeploymentsSound({ ...run, versions: [{ ...before, ...wrong }, gateway] })).toBe(false);
    }
    run.counts.errors.set('before: status 500', 1);
    expect(areDeploymentsSound(run)).toBe(false);
    expect(deploymentsReport(run)).toContain('before: status 500 ×1');
  });
});

test('a crowd is measured by its responses', () => {
  const { perSecond, p50Ms, cpuMicroseconds } = crowdSample({
    elapsedMs: 2_000,
    completed: 500,
    chunks: 0,
    chunksPerRead: 0,
    p50Ms: 3,
    p99Ms: 4,
    firstByteP50Ms: 1,
    firstByteP99Ms: 1,
    errors: {},
    sentAtMs: [],
    firstBytesMs: [],
    latenciesMs: [],
  });
  expect([perSecond, p50Ms, cpuMicroseconds]).toEqual([250, 3, Number.NaN]);
});
