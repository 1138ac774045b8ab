/** The short form of `npm run chaos`, and whether its judge notices what it is there to notice. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Evidence } from '../chaos/evidence.ts';
import type { RecordedGeneration } from '../chaos/ledger-log.ts';
import { shortForm } from '../chaos/options.ts';
import { formatReport, isTrue } from '../chaos/report.ts';
import { type ChaosResult, runChaos } from '../chaos/run.ts';
import { judge } from '../chaos/truths.ts';

const deadlineMs = 240_000;

describe('gateways and database killed again and again under load', () => {
  let result: ChaosResult;

  beforeAll(async () => {
    result = await runChaos({ ...shortForm, gatewayKills: 6, databaseKills: 2 });
    console.log(formatReport(result));
  }, deadlineMs);

  afterAll(() => {
    if (result.findings.every(isTrue)) result.remove();
    else console.log(`The logs of this run are in ${result.folder}`);
  });

  test('every truth holds', () => {
    expect(result.findings.filter((finding) => !isTrue(finding))).toEqual([]);
  });

  test('there was something to judge', () => {
    const outcomes = new Set(result.evidence.seen.map(({ outcome }) => outcome));
    const endings = new Set([...result.evidence.ledger.generations.values()].map(({ status }) => status));
    expect([...outcomes]).toEqual(expect.arrayContaining(['success', 'error', 'aborted', 'unreachable']));
    expect([...endings]).toEqual(expect.arrayContaining(['completed', 'failed', 'cancelled']));
    expect(result.findings.filter(({ checked }) => checked === 0)).toEqual([]);
    expect(result.kills.gatewayReadyMs).toHaveLength(6);
    expect(result.kills.databaseReadyMs).toHaveLength(2);
  });

  test('what was left open came to an end by itself', () => {
    expect(result.orphansMs).toBeLessThan(60_000);
  });

  /** The same evidence, but for one Generation that was completed and whose client saw it. */
  function forge(change: (generation: RecordedGeneration) => RecordedGeneration | null): string[] {
    const { evidence } = result;
    const success = evidence.seen.find(({ outcome }) => outcome === 'success');
    const id = success?.requestId ?? '';
    const generations = new Map(evidence.ledger.generations);
    const found = generations.get(id);
    const changed = found ? change(found) : null;
    if (changed === null) generations.delete(id);
    else generations.set(id, changed);
    const forged: Evidence = { ...evidence, ledger: { ...evidence.ledger, generations } };
    return judge(forged)
      .filter((finding) => !isTrue(finding))
      .map(({ says }) => says);
  }

  test('the judge notices a charge that is off by the smallest unit', () => {
    expect(forge((found) => ({ ...found, charges: [(found.charges[0] ?? 0n) + 1n] }))).toEqual([
      'each charge equals the price of the usage that the provider logged',
    ]);
  });

  test('the judge notices a second charge', () => {
    expect(forge((found) => ({ ...found, charges: [...found.charges, ...found.charges] }))).toContain(
      'at most one charge per Generation, and none without one',
    );
  });

  test('the judge notices a success that was not charged', () => {
    expect(forge((found) => ({ ...found, charges: [] }))).toEqual([
      'usage stays without a charge only for a reason that is allowed',
      'no client saw success without a committed charge',
    ]);
  });

  test('the judge notices a Generation that is missing', () => {
    expect(forge(() => null)).toContain('every request that was admitted has a final Generation');
  });

  test('the judge notices a charge without usage', () => {
    const { evidence } = result;
    const forged: Evidence = { ...evidence, calls: new Map() };
    const broken = judge(forged).filter((finding) => !isTrue(finding));
    expect(broken.map(({ says }) => says)).toEqual(['no usage, no charge']);
  });
});
