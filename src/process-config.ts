/** The part of the configuration that is about processes: how many there are, how they stop, where each has its metrics. */
import { availableParallelism } from 'node:os';
import { type Environment, readChoice, readInteger, readSecret } from './lib/environment.ts';
import { OperatorError } from './lib/operator-error.ts';

/** How a gateway stops: how long it still serves everyone, and how long requests may take in all, from the signal on. */
type DrainSettings = Readonly<{ delaySeconds: number; seconds: number }>;

type MetricsSettings = Readonly<{
  isOn: boolean;
  /** Where the metrics are served without a token; null for nowhere. */
  port: number | null;
  /** Opens /metrics on the gateway's own port to those who present it. */
  token: string | null;
}>;

export type ProcessSettings = Readonly<{
  /** How many processes serve requests. */
  workers: number;
  /** Which of them this process is, from 1; null when it is none, or the only one. Set by their parent. */
  worker: number | null;
  drain: DrainSettings;
  metrics: MetricsSettings;
}>;

export function readProcesses(environment: Environment): ProcessSettings {
  const workers = readWorkers(environment);
  const worker = environment.TOLLGATE_WORKER ? Number(environment.TOLLGATE_WORKER) : null;
  return {
    workers,
    worker,
    drain: readDrain(environment),
    metrics: readMetrics(environment, workers, worker),
  };
}

const minToken = 16;
const maxWorkers = 256;

function readWorkers(environment: Environment): number {
  if (environment.WORKERS === 'auto') return Math.min(availableParallelism(), maxWorkers);
  if (!environment.WORKERS || /^\d+$/.test(environment.WORKERS))
    return readInteger(environment, 'WORKERS', 1, 1, maxWorkers);
  throw new OperatorError(
    `WORKERS must be auto or a whole number from 1 to ${maxWorkers}, but is "${environment.WORKERS}".`,
  );
}

/** Someone at a terminal who presses Ctrl-C has no balancer to wait for. */
const isAtTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;

const maxDrainSeconds = 86_400;

/** The embedded database is for one gateway without a balancer, mostly someone's own machine. */
function readDrain(environment: Environment): DrainSettings {
  const isEmbedded = !environment.DATABASE_URL && !environment.DATABASE_URL_FILE;
  const defaultDelay = isEmbedded || isAtTerminal ? 0 : 5;
  const delaySeconds = readInteger(environment, 'DRAIN_DELAY_SECONDS', defaultDelay, 0, maxDrainSeconds);
  const defaultSeconds = Math.max(isEmbedded ? 10 : 600, delaySeconds);
  const seconds = readInteger(environment, 'DRAIN_SECONDS', defaultSeconds, 0, maxDrainSeconds);
  if (environment.DRAIN_DELAY_SECONDS && seconds < delaySeconds)
    throw new OperatorError(
      `DRAIN_SECONDS includes DRAIN_DELAY_SECONDS, so it must be at least ${delaySeconds}, but is ${seconds}.`,
    );
  return { delaySeconds: Math.min(delaySeconds, seconds), seconds };
}

/** Each worker has its own metrics, on a port of its own: METRICS_PORT and those that follow it. */
function readMetrics(environment: Environment, workers: number, worker: number | null): MetricsSettings {
  const token = readSecret(environment, 'METRICS_TOKEN');
  if (token !== null && token.length < minToken)
    throw new OperatorError(`METRICS_TOKEN must have at least ${minToken} characters.`);
  const isOn = readChoice(environment, 'METRICS', 'on', ['on', 'off']) === 'on';
  if (isOn && token !== null && workers > 1)
    throw new OperatorError(
      `METRICS_TOKEN works with a single worker only, but WORKERS makes ${workers}: each scrape would reach another one. Set METRICS_PORT instead, and scrape one port per worker, from METRICS_PORT on.`,
    );
  const first = environment.METRICS_PORT
    ? readInteger(environment, 'METRICS_PORT', 0, 1, 65_536 - workers)
    : null;
  return { isOn, port: first === null ? null : first + (worker ?? 1) - 1, token };
}
