/** The gateway of this checkout as a multiple of the one before, round by round: below one is less. */
import { type Figure, ratios, type ScenarioResult } from './results.ts';
import { median } from './statistics.ts';
import { formatSpread, formatTable } from './table.ts';

const header = [
  'gateway ÷ gateway before',
  'at once',
  'CPU',
  'PostgreSQL',
  'per second',
  'p50',
  'p99',
  'added to direct p50',
  'called after direct',
];

/** Nothing unless the run had an older gateway. */
export function againstBefore(results: readonly ScenarioResult[]): string[] {
  const compared = results.filter(({ samples }) => samples.before.length > 0);
  return compared.length === 0 ? [] : [formatTable(header, compared.map(row)), ''];
}

function row({ scenario, samples: { direct, before, gateway } }: ScenarioResult): string[] {
  const over = (figure: Figure): Figure => {
    // What both add to the median of direct: it varies less than they do.
    const base = median(direct.map(figure));
    return (sample) => figure(sample) - base;
  };
  const cell = (figure: Figure) => formatSpread(ratios(gateway, before, figure));
  return [
    scenario.title,
    `${scenario.connections}`,
    cell((sample) => sample.cpuMicroseconds),
    cell((sample) => sample.postgresMicroseconds),
    cell((sample) => sample.perSecond),
    cell((sample) => sample.p50Ms),
    cell((sample) => sample.p99Ms),
    cell(over((sample) => sample.p50Ms)),
    cell(over((sample) => sample.calledP50Ms)),
  ];
}
