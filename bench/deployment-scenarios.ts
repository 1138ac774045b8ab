/** What `--deployments` measures: whom requests go to, and what happens meanwhile. */
import type { Owner } from './accounts.ts';
import type { Deployment } from './deployment.ts';
import type { RunningGateway } from './gateway.ts';
import type { Timing } from './measure.ts';
import { lateByMs, lateConnections, localTarget, models, type Scenario, type Target } from './scenarios.ts';
import { drawn } from './spread.ts';
import type { Subject } from './subjects.ts';

export type Situation = Readonly<{
  subject: Subject;
  /** Further load, which is not measured. */
  crowd?: Readonly<{ targets: readonly Target[]; connections: number }>;
  /** Another session keeps the row of this account locked. */
  lockedAccountId?: string;
}>;

export type DeploymentScenario = Scenario &
  Readonly<{
    timing: Timing;
    /** Whether direct calls are measured in the same round. */
    hasDirect?: boolean;
    /** If it is reported how the crowd itself is served. */
    crowdTitle?: string;
    situation: (deployment: Deployment) => Situation;
  }>;

/** From the gateway that is far to PostgreSQL and back. */
export const roundTripMs = 1;

const sharedCount = 1_000;
const neighbourCount = 16;
const roleCount = 4;
export const accountCount = roleCount + neighbourCount + sharedCount;

/** Half of the crowd is on one gateway and half on another. */
export const crowdConnections = 4;
export const lockedConnections = 4;

/** A round has to be short, so that what else the machine does affects both versions. Late answers get twice the time. */
const timing = { warmUpMs: 250, runMs: 1_300, heldMs: 0 };
const lateTiming = { ...timing, runMs: 900 };
const arrivalTiming = { ...timing, runMs: 750 };

export type DeploymentScenarioName = keyof ReturnType<typeof deploymentScenarios>;

/** `perSecond` is the rate of those that arrive. */
export function deploymentScenarios(perSecond: number) {
  const saturated = { unit: 'request', model: models.json, timing } as const;
  const neighbours = { ...saturated, connections: neighbourCount };
  const lateJson = { unit: 'request', model: models.lateJson, connections: 1, timing: lateTiming } as const;
  const lateStream = { ...lateJson, unit: 'chunk', model: models.lateFast } as const;
  const arriving = { ...lateJson, connections: lateConnections, perSecond, timing: arrivalTiming };
  const near = 'PostgreSQL near';
  const away = `PostgreSQL ${roundTripMs} ms away`;
  const json = `JSON after ${lateByMs} ms`;
  const stream = `stream after ${lateByMs} ms`;
  const arrivals = `${json}, ${perSecond.toLocaleString('en-US')} arriving per second`;
  return {
    sharedAccounts: {
      ...saturated,
      title: `three gateways, ${sharedCount.toLocaleString('en-US')} shared accounts`,
      connections: 64,
      situation: (deployment) => callMany(deployment, deployment.near),
    },
    oneAccount: {
      ...saturated,
      title: 'three gateways, one account',
      connections: 64,
      situation: (deployment) => call(deployment, deployment.near, [rolesOf(deployment).busy]),
    },
    neighboursAlone: { ...neighbours, title: 'neighbours alone', situation: callNeighbours },
    neighboursOfTwo: {
      ...neighbours,
      title: 'neighbours of two busy accounts, each on its own gateway',
      crowdTitle: 'two busy accounts, each on its own gateway',
      situation: (deployment) => {
        const { busy, busyToo } = rolesOf(deployment);
        return besideCrowd(deployment, [[busy], [busyToo]]);
      },
    },
    neighboursOfShared: {
      ...neighbours,
      title: 'neighbours of a busy account on two gateways',
      crowdTitle: 'a busy account on two gateways',
      situation: (deployment) => {
        const { busy } = rolesOf(deployment);
        return besideCrowd(deployment, [[busy], [busy]]);
      },
    },
    jsonNear: { ...lateJson, title: `${json}, ${near}`, hasDirect: true, situation: callNear },
    jsonFar: { ...lateJson, title: `${json}, ${away}`, situation: callFar },
    streamNear: { ...lateStream, title: `${stream}, ${near}`, hasDirect: true, situation: callNear },
    streamFar: { ...lateStream, title: `${stream}, ${away}`, situation: callFar },
    arrivalsNear: { ...arriving, title: `${arrivals}, ${near}`, situation: callNear },
    arrivalsFar: { ...arriving, title: `${arrivals}, ${away}`, situation: callFar },
    locked: {
      ...saturated,
      title: 'other accounts while one is locked',
      connections: 64,
      situation: (deployment) => {
        const { locked } = rolesOf(deployment);
        const gateways = deployment.near.slice(0, 1);
        return {
          ...callMany(deployment, gateways),
          crowd: { targets: targetsOf(gateways, [[locked]]), connections: lockedConnections },
          lockedAccountId: locked.accountId,
        };
      },
    },
  } as const satisfies Readonly<Record<string, DeploymentScenario>>;
}

/** Every role has its own accounts, so that no scenario finds what another has left behind. */
export function rolesOf({ owners }: Pick<Deployment, 'owners'>) {
  const [busy, busyToo, locked, single] = owners;
  if (busy === undefined || busyToo === undefined || locked === undefined || single === undefined)
    throw new Error('There are too few accounts.');
  return {
    busy,
    busyToo,
    locked,
    single,
    neighbours: owners.slice(roleCount, roleCount + neighbourCount),
    shared: owners.slice(roleCount + neighbourCount),
  };
}

/** Requests to each gateway are for accounts drawn at random, as customers come. */
export function callMany(deployment: Deployment, gateways: readonly RunningGateway[]): Situation {
  const { shared } = rolesOf(deployment);
  const order = gateways.map(() => drawn(2 * sharedCount, shared, Math.random));
  return { subject: deployment.subject(gateways, targetsOf(gateways, order)) };
}

/** Each gateway has accounts of its own. */
export function callApart(deployment: Deployment, gateways: readonly RunningGateway[]): Situation {
  const { shared } = rolesOf(deployment);
  const parts = gateways.map((_, part) => shared.filter((__, index) => index % gateways.length === part));
  return { subject: deployment.subject(gateways, targetsOf(gateways, parts)) };
}

function call(
  deployment: Deployment,
  gateways: readonly RunningGateway[],
  owners: readonly Owner[],
): Situation {
  const targets = targetsOf(
    gateways,
    gateways.map(() => owners),
  );
  return { subject: deployment.subject(gateways, targets) };
}

function callNear(deployment: Deployment): Situation {
  return call(deployment, deployment.near.slice(0, 1), [rolesOf(deployment).single]);
}

function callFar(deployment: Deployment): Situation {
  return call(deployment, [deployment.far], [rolesOf(deployment).single]);
}

/** Their CPU cannot be told from that of the crowd, so it is not measured. */
function callNeighbours(deployment: Deployment): Situation {
  const { subject } = call(deployment, deployment.near.slice(0, 1), rolesOf(deployment).neighbours);
  return { subject: { ...subject, cpu: () => ({ own: Number.NaN, postgres: Number.NaN }) } };
}

/** `owners` are those that the crowd uses on the first gateway, which is the neighbours' too, and on the second. */
function besideCrowd(deployment: Deployment, owners: readonly (readonly Owner[])[]): Situation {
  return {
    ...callNeighbours(deployment),
    crowd: { targets: targetsOf(deployment.near.slice(0, 2), owners), connections: crowdConnections },
  };
}

/** `owners` has the accounts of each gateway, whose requests take them in turn. */
function targetsOf(gateways: readonly RunningGateway[], owners: readonly (readonly Owner[])[]): Target[] {
  return gateways.map(({ port }, index) =>
    localTarget(
      port,
      (owners[index] ?? []).map(({ key }) => key),
    ),
  );
}
