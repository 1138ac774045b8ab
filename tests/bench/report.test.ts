/** What the bench makes of its figures: comparisons, targets and the page. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { inOrderOf } from '../../bench/compare.ts';
import { compareHeader, compareRows } from '../../bench/compare-report.ts';
import { curveFiles, curveReport } from '../../bench/curves-report.ts';
import { Counts, type Sample } from '../../bench/measure.ts';
import { page } from '../../bench/page.ts';
import { report } from '../../bench/report.ts';
import { isSound, newSamples, type Results } from '../../bench/results.ts';
import { peerModels, scenariosAt } from '../../bench/scenarios.ts';
import { median, quartiles } from '../../bench/statistics.ts';
import { judge } from '../../bench/targets.ts';

const sample: Sample = {
  perSecond: 9_000,
  cpuMicroseconds: 30,
  postgresMicroseconds: Number.NaN,
  p50Ms: 0.2,
  p99Ms: 0.5,
  calledP50Ms: Number.NaN,
  chunksPerRead: 1,
  connectionsPerRequest: 0,
  loadCores: 0.25,
};

/** A run that meets every target, exactly where that is possible. */
function goodRun(): Results {
  return {
    startedAt: new Date('2026-01-02T03:04:05Z'),
    command: 'npm run bench',
    machine: ['2 cores'],
    scenarios: scenariosAt(500).map((scenario) => ({
      scenario,
      samples: {
        ...newSamples(),
        direct: [sample, sample],
        bare: [sample, sample],
        gateway: [1, 2].map(() => ({
          ...sample,
          cpuMicroseconds: scenario.unit === 'chunk' ? 42 : 60,
          postgresMicroseconds: 60,
          perSecond: 8_000,
          p50Ms: sample.p50Ms + (scenario.unit === 'chunk' ? 0.39 : 0.89),
        })),
      },
    })),
    memory: [{ name: 'gateway', sample: { connections: 10_000, idleBytes: 1, openBytes: 400 * 2 ** 20 } }],
    ledger: {
      samples: [
        [1, 12_000],
        [1, 300],
        [1_000, 15_000],
      ].map(([accounts = 0, pairsPerSecond = 0]) => ({
        accounts,
        pairsPerSecond,
        concurrency: 64,
        cpuMicroseconds: 1,
        postgresMicroseconds: 1,
        p50Ms: 1,
        p99Ms: 1,
        errors: 0,
      })),
      pairs: 3,
      charges: 3,
      walBytesPerPair: 3_210.4,
      holds: true,
    },
    counts: new Counts(),
    charges: 0,
    auditExitCode: 0,
    complaints: [],
  };
}

const verdicts = (results: Results) => judge(results).map(({ verdict }) => verdict);

describe('targets', () => {
  test('are met at their limits', () => {
    expect(verdicts(goodRun())).toEqual(Array.from({ length: 11 }, () => 'met' as const));
  });

  test('are missed beyond them', () => {
    const run = goodRun();
    const worse = verdicts({
      ...run,
      scenarios: run.scenarios.map(({ scenario, samples }) => ({
        scenario,
        samples: {
          ...samples,
          gateway: samples.gateway.map((one) => ({
            ...one,
            cpuMicroseconds: one.cpuMicroseconds + (scenario.format === undefined ? 0.1 : 0.2),
            postgresMicroseconds: 60.1,
            perSecond: 7_999,
            p50Ms: one.p50Ms + 0.02,
          })),
        },
      })),
      memory: run.memory.map((one) => ({ ...one, sample: { ...one.sample, openBytes: 401 * 2 ** 20 } })),
      ledger: {
        ...run.ledger,
        samples: run.ledger.samples.map((one) => ({ ...one, pairsPerSecond: one.pairsPerSecond - 1 })),
      },
    });
    expect(worse).toEqual(Array.from({ length: 11 }, () => 'missed' as const));
  });

  test('are neither when nothing was measured: fewer streams say nothing about ten thousand', () => {
    const run = goodRun();
    const memory = run.memory.map((one) => ({ ...one, sample: { ...one.sample, connections: 8_999 } }));
    expect(verdicts({ ...run, memory }).at(-1)).toBe('not measured');
    expect(verdicts({ ...run, scenarios: [], memory: [], ledger: { ...run.ledger, samples: [] } })).toEqual(
      Array.from({ length: 11 }, () => 'not measured' as const),
    );
  });

  test('of ten thousand streams are judged by nearly as many, scaled up', () => {
    const run = goodRun();
    const memory = (openMb: number) => [
      {
        name: 'gateway' as const,
        sample: { connections: 9_000, idleBytes: 100 * 2 ** 20, openBytes: openMb * 2 ** 20 },
      },
    ];
    const verdict = (openMb: number) => judge({ ...run, memory: memory(openMb) }).at(-1);
    expect(verdict(369.9)?.verdict).toBe('met');
    expect(verdict(369.9)?.measured.median).toBeCloseTo(399.9, 1);
    expect(verdict(370.1)?.verdict).toBe('missed');
  });

  test('of the saturated runs are not judged by the one at an equal rate', () => {
    const run = goodRun();
    const scenarios = run.scenarios.toSorted((a) => (a.scenario.perSecond === undefined ? 1 : -1));
    expect(scenarios[0]?.scenario.perSecond).toBe(500);
    const slow = scenarios.map(({ scenario, samples }) => ({
      scenario,
      samples:
        scenario.perSecond === undefined
          ? samples
          : { ...samples, gateway: samples.gateway.map((one) => ({ ...one, perSecond: 500 })) },
    }));
    expect(verdicts({ ...run, scenarios: slow })[2]).toBe('met');
  });
});

describe('the report', () => {
  const rowsOf = (text: string, subject: string) =>
    text.split('\n').filter((line) => line.split('|')[3]?.trim() === subject);

  test('states the limit of the load generator and its share', () => {
    expect(report(goodRun())).toContain(
      'Load generator: reaches 9,000 requests/s direct to the upstream with 64 connections, where it takes 25.0 % of a core, 27.8 µs per request',
    );
  });

  test('has the equal rate next to the saturated one, and rows for a peer only if there is one', () => {
    const run = goodRun();
    expect(rowsOf(report(run), 'gateway').some((line) => line.includes('500 arriving per second'))).toBe(
      true,
    );
    expect(rowsOf(report(run), 'peer')).toEqual([]);
    const withPeer = run.scenarios.map(({ scenario, samples }) => ({
      scenario,
      samples: { ...samples, peer: samples.gateway.map((one) => ({ ...one, cpuMicroseconds: 90 })) },
    }));
    const rows = rowsOf(report({ ...run, scenarios: withPeer }), 'peer');
    expect(rows.length).toBe(run.scenarios.length);
    // Against the bare proxy, as the gateway is.
    expect(rows.every((line) => line.split('|')[6]?.trim() === '3.00')).toBe(true);
  });

  test('compares an older gateway round by round, with what both add to direct', () => {
    const run = goodRun();
    expect(report(run)).not.toContain('÷ gateway before');
    const scenarios = run.scenarios.slice(0, 1).map(({ scenario, samples }) => ({
      scenario,
      samples: {
        ...samples,
        before: samples.gateway.map((one, round) => ({
          ...one,
          cpuMicroseconds: one.cpuMicroseconds * (round + 1),
          p50Ms: one.p50Ms + 0.89,
        })),
      },
    }));
    const row = report({ ...run, scenarios })
      .split('\n')
      .find((_, index, lines) => lines[index - 2]?.includes('÷ gateway before'));
    const cells = row?.split('|').map((cell) => cell.trim()) ?? [];
    expect(cells.slice(1, 10)).toEqual([
      'JSON',
      '1',
      '0.75 (0.50–1.00)',
      '1.00 (1.00–1.00)',
      '1.00 (1.00–1.00)',
      '0.55 (0.55–0.55)',
      '1.00 (1.00–1.00)',
      '0.50 (0.50–0.50)',
      '–',
    ]);
  });

  test('counts a run only without errors', () => {
    const run = goodRun();
    run.counts.completed.set('gateway', 0);
    expect(isSound(run)).toBe(true);
    run.counts.errors.set('peer: status 500', 1);
    expect(isSound(run)).toBe(false);
  });

  test('tells the accounts of the ledger apart', () => {
    const text = report(goodRun());
    expect(text).toContain('hold + settle, pairs, one account');
    expect(text).toContain('hold + settle, pairs, 1,000 accounts');
    expect(text).toContain('3,210 bytes of WAL per pair');
  });
});

describe('a comparison of settings', () => {
  test('goes first as often as second', () => {
    const firsts = [1, 2, 3, 4].map((round) => inOrderOf(round, ['a', 'b'])[0]);
    expect(firsts).toEqual(['b', 'a', 'b', 'a']);
  });

  test('shows the median and the quartiles of the differences within a round', () => {
    const of = (values: readonly number[]) =>
      values.map((cpuMicroseconds) => ({ perSecond: 1, p50Ms: 1, p99Ms: 1, cpuMicroseconds, cores: 1 }));
    const rows = compareRows('JSON', 'requests', [
      { name: 'off', samples: of([100, 200, 300, 400, 500]) },
      { name: 'on', samples: of([101, 198, 303, 404, 505]) },
    ]);
    const cell = (row: number, title: string) => rows[row]?.[compareHeader.indexOf(title)];
    expect([cell(0, 'more than the first'), cell(0, 'quartiles')]).toEqual(['–', '–']);
    expect([cell(1, 'more than the first'), cell(1, 'quartiles')]).toEqual(['+3.00', '+1.00 to +4.00']);
  });

  test('quartiles are in order, and the middle one is the median', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1e6, max: 1e6 }), { minLength: 1 }), (values) => {
        const [lower, middle, upper] = quartiles(values);
        expect(middle).toBe(median(values));
        expect(lower).toBeLessThanOrEqual(middle);
        expect(upper).toBeGreaterThanOrEqual(middle);
        expect(values.filter((value) => value <= lower).length).toBeGreaterThanOrEqual(values.length / 4);
        expect(values.filter((value) => value >= upper).length).toBeGreaterThanOrEqual(values.length / 4);
      }),
    );
    expect(quartiles([])).toEqual([Number.NaN, Number.NaN, Number.NaN]);
  });
});

describe('curves', () => {
  const point = (x: number) => ({ x, bare: [sample], gateway: [{ ...sample, postgresMicroseconds: 50 }] });
  const curves = {
    startedAt: new Date(0),
    command: 'npm run bench -- --curves',
    machine: [],
    connections: [1, 64, 512].map(point),
    accounts: [1, 1_000].map(point),
    generations: [18_000, 1_000_000].map(point),
    errorCount: 0,
    charges: { found: 7, expected: 7 },
    storage: { tableBytes: 200.4, indexBytes: 400 },
    auditExitCode: 0,
    isSound: true,
  };

  test('each plot that the text shows is among the files', () => {
    const shown = [...curveReport(curves).matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, file]) => file);
    expect(shown.toSorted()).toEqual(
      curveFiles(curves)
        .map(([name]) => name)
        .toSorted(),
    );
    for (const [, svg] of curveFiles(curves)) expect(svg).toStartWith('<svg ');
  });

  test('the cost of a request is that of the gateway and of its database', () => {
    expect(curveReport(curves)).toContain('600 bytes per Generation, 400 of them indexes');
    expect(curveReport(curves)).toMatch(/\| +1,000,000 \| +30\.0 \| +50\.0 \| +80\.0 \|/);
  });
});

describe('docs/bench.md', () => {
  const existing = readFileSync(join(import.meta.dir, '../../docs/bench.md'), 'utf8');

  test('is what the bench would write around the recorded runs', () => {
    expect(page(existing, {})).toBe(existing);
  });

  test('keeps one section when the other is written', () => {
    const both = page(page('', { run: 'the run' }), { curves: 'the curves\n\n### Over accounts' });
    expect(both).toEndWith(
      '## Last recorded run\n\nthe run\n\n## Curves\n\nthe curves\n\n### Over accounts\n',
    );
    expect(page(both, { run: 'another' })).toBe(both.replace('the run', 'another'));
    const all = page(both, { deployments: 'the deployments' });
    expect(all).toBe(`${both}\n## Deployments\n\nthe deployments\n`);
    expect(page(all, { run: 'another' })).toBe(all.replace('the run', 'another'));
    expect(page('', {})).not.toContain('recorded run\n');
  });

  test('names each model that a peer may have to serve', () => {
    for (const model of peerModels) expect(existing).toContain(`\`${model}\``);
  });
});
