/** Everything one run of `--deployments` found. */
import type { Version } from './deployment.ts';
import {
  crowdConnections,
  type DeploymentScenario,
  type DeploymentScenarioName,
} from './deployment-scenarios.ts';
import type { LoadResult } from './load.ts';
import type { Counts, Sample } from './measure.ts';
import { newSamples, type ScenarioResult } from './results.ts';

/** What a version has done in all, and whether its books are right. */
export type VersionResult = Readonly<{
  name: Version['name'];
  completed: number;
  charges: number;
  auditExitCode: number;
  complaints: readonly string[];
}>;

export type Served = ScenarioResult & Readonly<{ scenario: DeploymentScenario }>;
export type DeploymentScenarioResult = Served &
  Readonly<{
    /** How the crowd was served meanwhile, if that is reported. */
    crowd: Served | null;
  }>;

type ScenarioResults = Readonly<Record<DeploymentScenarioName, DeploymentScenarioResult>>;

export type DeploymentResults = Readonly<{
  startedAt: Date;
  command: string;
  machine: readonly string[];
  scenarios: ScenarioResults;
  counts: Counts;
  versions: readonly VersionResult[];
}>;

/** Direct calls know no database, so those of the one that is near serve for the other, too. */
export function newScenarioResults(
  scenarios: Readonly<Record<DeploymentScenarioName, DeploymentScenario>>,
): ScenarioResults {
  const entries = Object.entries(scenarios).map(([name, scenario]) => [name, newResult(scenario)]);
  const results = Object.fromEntries(entries) as ScenarioResults;
  const { jsonNear, jsonFar, streamNear, streamFar } = results;
  return {
    ...results,
    jsonFar: withDirectOf(jsonNear, jsonFar),
    streamFar: withDirectOf(streamNear, streamFar),
  };
}

function newResult(scenario: DeploymentScenario): DeploymentScenarioResult {
  const { crowdTitle: title } = scenario;
  const crowd =
    title === undefined
      ? null
      : { scenario: { ...scenario, title, connections: crowdConnections }, samples: newSamples() };
  return { scenario, samples: newSamples(), crowd };
}

function withDirectOf(
  { samples: { direct } }: DeploymentScenarioResult,
  other: DeploymentScenarioResult,
): DeploymentScenarioResult {
  return { ...other, samples: { ...other.samples, direct } };
}

/** A crowd is counted by its responses alone. */
export function crowdSample({ completed, elapsedMs, p50Ms, p99Ms }: LoadResult): Sample {
  return {
    perSecond: (completed * 1000) / elapsedMs,
    p50Ms,
    p99Ms,
    cpuMicroseconds: Number.NaN,
    postgresMicroseconds: Number.NaN,
    calledP50Ms: Number.NaN,
    chunksPerRead: Number.NaN,
    connectionsPerRequest: Number.NaN,
    loadCores: Number.NaN,
  };
}

/** A run counts only if nothing failed in it and every cent is accounted for. */
export function areDeploymentsSound({
  counts,
  versions,
}: Pick<DeploymentResults, 'counts' | 'versions'>): boolean {
  return (
    counts.errorCount() === 0 &&
    versions.every(({ completed, charges, auditExitCode }) => charges === completed && auditExitCode === 0)
  );
}
