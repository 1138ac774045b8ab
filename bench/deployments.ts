/**
 * `npm run bench -- --deployments`: gateways that share accounts, neighbours of a busy account, a database that is not
 * near, a locked row. With `--before FOLDER`, two versions in turn, each with a database of its own.
 */
import { loadavg } from 'node:os';
import type { SQL } from 'bun';
import { countCharges } from './charges.ts';
import { startChild } from './child.ts';
import { inOrderOf } from './compare.ts';
import { type Deployment, maintain, startDeployment, type Version } from './deployment.ts';
import {
  crowdSample,
  type DeploymentResults,
  type DeploymentScenarioResult,
  newScenarioResults,
  type VersionResult,
} from './deployment-results.ts';
import {
  accountCount,
  callApart,
  callMany,
  deploymentScenarios,
  roundTripMs,
} from './deployment-scenarios.ts';
import { ownCheckout } from './gateway.ts';
import { describeMachine } from './machine.ts';
import { Counts, measure, warmUp } from './measure.ts';
import { commandOf, type Options } from './options.ts';
import { models } from './scenarios.ts';
import { type Bench, type Load, ownSubject, startUpstreamAndLoad } from './subjects.ts';
import type { Workshop } from './workshop.ts';

type Plan = Readonly<{ rounds: number; warmUp: Readonly<{ requests: number; streams: number }> }>;

const thorough: Plan = { rounds: 8, warmUp: { requests: 120_000, streams: 1_000 } };
const quick: Plan = { rounds: 2, warmUp: { requests: 30_000, streams: 500 } };
/** What gateways do only when they share accounts is compiled, too. */
const sharedWarmUpRequests = 10_000;

/** `crowd` generates the load that is not measured. */
type World = Pick<Bench, 'load' | 'upstream'> &
  Readonly<{ crowd: Load; upstreamPort: number; deployments: readonly Deployment[] }>;

type Progress = (text: string) => void;

export async function runDeployments(
  workshop: Workshop,
  options: Options,
  progress: Progress,
): Promise<DeploymentResults> {
  const startedAt = new Date();
  const [loadBefore = 0] = loadavg();
  const usual = options.isQuick ? quick : thorough;
  const plan = { ...usual, rounds: options.rounds ?? usual.rounds };
  const world = await startWorld(workshop, options, progress);
  const counts = new Counts();
  for (const deployment of world.deployments) {
    progress(`warming up: ${deployment.name}`);
    const all = [...deployment.near, deployment.far];
    const { subject } = callApart(deployment, all);
    await warmUp(world, subject, models.json, plan.warmUp.requests, counts);
    await warmUp(world, subject, models.fast, plan.warmUp.streams, counts);
    await warmUp(world, callMany(deployment, all).subject, models.json, sharedWarmUpRequests, counts);
  }
  const scenarios = await measureRounds(world, plan.rounds, options.rate, counts, progress);
  const [{ sql } = { sql: null }] = world.deployments;
  const machine = sql === null ? [] : await describeMachine(sql);
  const versions: VersionResult[] = [];
  for (const deployment of world.deployments) versions.push(await conclude(deployment, counts, progress));
  return {
    startedAt,
    command: commandOf(options),
    machine: [...machine, `Load average before the run: ${loadBefore.toFixed(2)}`],
    scenarios,
    counts,
    versions,
  };
}

async function startWorld(workshop: Workshop, { beforeFolder }: Options, progress: Progress): Promise<World> {
  const { upstream, upstreamPort, load } = await startUpstreamAndLoad(workshop);
  const crowd: Load = await startChild('load.ts', [], workshop);
  const versions: Version[] = [
    ...(beforeFolder === null ? [] : [{ name: 'before', checkout: beforeFolder } as const]),
    { name: 'gateway', checkout: ownCheckout },
  ];
  const deployments: Deployment[] = [];
  for (const version of versions) {
    progress(`starting: ${version.name}`);
    deployments.push(await startDeployment(version, { upstreamPort, accountCount, roundTripMs }, workshop));
  }
  return { load, crowd, upstream, upstreamPort, deployments };
}

/** Both versions are measured before the next scenario, so that whatever else the machine does affects both of them. */
async function measureRounds(
  world: World,
  rounds: number,
  rate: number,
  counts: Counts,
  progress: Progress,
): Promise<DeploymentResults['scenarios']> {
  const results = newScenarioResults(deploymentScenarios(rate));
  const direct = ownSubject('direct', world.upstreamPort, 'none', world.upstream.processId);
  for (let round = 1; round <= rounds; round += 1) {
    const startedAtMs = performance.now();
    for (const deployment of world.deployments) await maintain(deployment);
    for (const result of Object.values(results)) {
      const { scenario, samples } = result;
      progress(`round ${round} of ${rounds}: ${scenario.title}`);
      if (scenario.hasDirect)
        samples.direct.push(await measure(world, direct, scenario, scenario.timing, counts));
      for (const deployment of inOrderOf(round, world.deployments))
        await measureSituation(world, deployment, result, counts);
    }
    progress(`${Math.round((performance.now() - startedAtMs) / 1000)} s`);
  }
  return results;
}

async function measureSituation(
  world: World,
  deployment: Deployment,
  { scenario, samples, crowd: crowdResult }: DeploymentScenarioResult,
  counts: Counts,
): Promise<void> {
  const { name, sql } = deployment;
  const { subject, crowd = null, lockedAccountId = null } = scenario.situation(deployment);
  const { model, timing } = scenario;
  if (crowd !== null)
    counts.add(subject, await world.crowd.ask({ type: 'prepare', ...crowd, model, warmUpMs: 50 }));
  const unlock = lockedAccountId === null ? null : await lockAccount(sql, lockedAccountId);
  if (crowd !== null) await world.crowd.ask({ type: 'start' });
  samples[name].push(await measure(world, subject, scenario, timing, counts));
  await unlock?.();
  if (crowd === null) return;
  const served = await world.crowd.ask({ type: 'stop' });
  counts.add(subject, served);
  crowdResult?.samples[name].push(crowdSample(served));
}

/** Returns what ends it. */
async function lockAccount(sql: SQL, accountId: string): Promise<() => Promise<void>> {
  const locking = await sql.reserve();
  await locking.unsafe('begin');
  await locking`select 1 from accounts where id = ${accountId} for update`;
  return async () => {
    await locking.unsafe('rollback');
    await locking.release();
  };
}

async function conclude(
  { name, near, far, sql }: Deployment,
  counts: Counts,
  progress: Progress,
): Promise<VersionResult> {
  progress(`audit: ${name}`);
  for (const gateway of [...near, far]) await gateway.stop();
  const { exitCode, stdout } = (await near[0]?.audit()) ?? { exitCode: 1, stdout: 'There is no gateway.' };
  if (exitCode !== 0) progress(stdout);
  return {
    name,
    completed: counts.completed.get(name) ?? 0,
    charges: await countCharges(sql),
    auditExitCode: exitCode,
    complaints: [...near, far].flatMap((gateway) => gateway.complaints()),
  };
}
