/** The figures the gateway is to reach, each judged by this run alone. */
import { differences, type Results, ratios } from './results.ts';
import { models, pacedEveryMs } from './scenarios.ts';
import { median } from './statistics.ts';

type Spread = Readonly<{ middle: number; least: number; most: number }>;
export type Target = Readonly<{ says: string; measured: Spread; isMet: boolean }>;

export function judge({ scenarios, ledger }: Results): Target[] {
  const samplesOf = (model: string, connections: number) =>
    scenarios.find(({ scenario }) => scenario.model === model && scenario.connections === connections)
      ?.samples ?? { direct: [], bare: [], gateway: [] };
  const cpuRatios = (model: string) => {
    const { gateway, bare } = samplesOf(model, 64);
    return ratios(gateway, bare, (sample) => sample.cpuMicroseconds);
  };
  const single = samplesOf(models.json, 1);
  const addedMs = differences(single.gateway, single.direct, (sample) => sample.p50Ms);
  const pairs = Math.max(...ledger.samples.map(({ pairsPerSecond }) => pairsPerSecond));
  return [
    atMost('CPU per JSON request ÷ bare proxy, 64 connections', cpuRatios(models.json), 1.8),
    atMost(`CPU per chunk ÷ bare proxy, 64 streams, ${pacedEveryMs} ms apart`, cpuRatios(models.paced), 1.3),
    atMost('CPU per chunk ÷ bare proxy, 64 streams, unpaced', cpuRatios(models.fast), 1.3),
    atLeast('hold + settle pairs per second on one account', [pairs], 5_000),
    atMost('p50 added to direct at one connection, ms', addedMs, 3),
  ];
}

function atMost(says: string, values: readonly number[], limit: number): Target {
  const measured = spread(values);
  return { says: `${says} ≤ ${limit}`, measured, isMet: measured.middle <= limit };
}

function atLeast(says: string, values: readonly number[], limit: number): Target {
  const measured = spread(values);
  return { says: `${says} ≥ ${limit.toLocaleString('en-US')}`, measured, isMet: measured.middle >= limit };
}

function spread(values: readonly number[]): Spread {
  return { middle: median(values), least: Math.min(...values), most: Math.max(...values) };
}
