/** What the load generator itself can do, so that a figure near it is not taken for a limit of the subject. */
import { middle, type ScenarioResult } from './results.ts';
import { models } from './scenarios.ts';
import type { SubjectName } from './subjects.ts';
import { formatNumber } from './table.ts';

const connections = 64;

export function loadLimit(results: readonly ScenarioResult[]): string[] {
  const saturated = results.find(
    ({ scenario }) =>
      scenario.model === models.json &&
      scenario.connections === connections &&
      scenario.perSecond === undefined,
  );
  if (saturated === undefined) return [];
  const share = (name: SubjectName) =>
    `${formatNumber(middle(saturated.samples[name], (sample) => sample.loadCores * 100))} %`;
  const { direct } = saturated.samples;
  const rate = formatNumber(middle(direct, ({ perSecond }) => perSecond));
  const perRequest = formatNumber(middle(direct, (sample) => (sample.loadCores * 1e6) / sample.perSecond));
  return [
    `- Load generator: reaches ${rate} requests/s direct to the upstream with ${connections} connections, where it takes ${share('direct')} of a core, ${perRequest} µs per request; with the bare proxy it takes ${share('bare')}, with the gateway ${share('gateway')}.`,
  ];
}
