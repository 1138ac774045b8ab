/** Everything one run of the bench found, and the figures that compare subjects. */
import type { LedgerReport } from './ledger.ts';
import type { Counts, MemorySample, Sample } from './measure.ts';
import type { Scenario } from './scenarios.ts';
import { median } from './statistics.ts';
import type { SubjectName } from './subjects.ts';

/** One sample for each round, in the order of the rounds. */
export type ScenarioResult = Readonly<{
  scenario: Scenario;
  samples: Readonly<Record<SubjectName, Sample[]>>;
}>;

export type Results = Readonly<{
  startedAt: Date;
  command: string;
  machine: readonly string[];
  scenarios: readonly ScenarioResult[];
  memory: readonly Readonly<{ name: SubjectName; sample: MemorySample }>[];
  ledger: LedgerReport;
  counts: Counts;
  charges: number;
  auditExitCode: number;
  complaints: readonly string[];
}>;

export function newSamples(): Record<SubjectName, Sample[]> {
  return { direct: [], bare: [], before: [], gateway: [], peer: [] };
}

export type Figure = (sample: Sample) => number;

export function middle(samples: readonly Sample[], figure: Figure): number {
  return median(samples.map(figure));
}

/** Subjects take turns within a round, so rounds are compared one by one: what slows the machine slows both. */
export function ratios(samples: readonly Sample[], others: readonly Sample[], figure: Figure): number[] {
  return samples.map((sample, round) => figure(sample) / figureOf(others[round], figure));
}

export function differences(samples: readonly Sample[], others: readonly Sample[], figure: Figure): number[] {
  return samples.map((sample, round) => figure(sample) - figureOf(others[round], figure));
}

function figureOf(sample: Sample | undefined, figure: Figure): number {
  return sample === undefined ? Number.NaN : figure(sample);
}

/** A run counts only if nothing failed in it and every cent is accounted for. */
export function isSound({ counts, charges, auditExitCode, ledger }: Results): boolean {
  return (
    counts.errorCount() === 0 &&
    auditExitCode === 0 &&
    charges === counts.completed.get('gateway') &&
    ledger.holds &&
    ledger.charges === ledger.pairs &&
    ledger.samples.every(({ errors }) => errors === 0)
  );
}
