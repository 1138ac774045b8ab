/** The figures that the gateway should reach, each judged by this run alone. */
import { differences, type Figure, newSamples, type Results, ratios } from './results.ts';
import { type Format, type Model, models, pacedEveryMs } from './scenarios.ts';
import { median } from './statistics.ts';

type Spread = Readonly<{ median: number; min: number; max: number }>;
export type Target = Readonly<{
  text: string;
  measured: Spread;
  verdict: 'met' | 'missed' | 'not measured';
}>;
type Judged = Pick<Results, 'scenarios' | 'ledger' | 'memory'>;

const manyStreams = 10_000;
/** Memory is scaled up from at least this many: a usual limit of 20,000 file descriptors is just too low for all of them. */
const nearlyAsMany = 9_000;

const cpu: Figure = (sample) => sample.cpuMicroseconds;
const p50: Figure = (sample) => sample.p50Ms;

export function judge({ scenarios, ledger, memory }: Judged): Target[] {
  /** Those in which each connection sends as fast as it can. */
  const samplesOf = (model: Model, connections: number, wanted: Format = 'chat') =>
    scenarios.find(
      ({ scenario: { model: asked, format = 'chat', connections: open, perSecond } }) =>
        asked === model && format === wanted && open === connections && perSecond === undefined,
    )?.samples ?? newSamples();
  const passedOnRatios = (format: Format) =>
    ratios(samplesOf(models.paced, 64, format).gateway, samplesOf(models.paced, 64).gateway, cpu);
  const cpuRatios = (model: Model) => {
    const { gateway, bare } = samplesOf(model, 64);
    return ratios(gateway, bare, cpu);
  };
  const addedMs = (model: Model) => {
    const { gateway, direct } = samplesOf(model, 1);
    return differences(gateway, direct, p50);
  };
  const { gateway: saturated } = samplesOf(models.json, 64);
  const pairs = (accounts: number) => {
    const rates = ledger.samples
      .filter((sample) => sample.accounts === accounts)
      .map(({ pairsPerSecond }) => pairsPerSecond);
    return rates.length === 0 ? [] : [Math.max(...rates)];
  };
  const megabytes = memory
    .filter(({ name, sample }) => name === 'gateway' && sample.connections >= nearlyAsMany)
    .map(({ sample: { connections, idleBytes, openBytes } }) => {
      const ofStreams = ((openBytes - idleBytes) * manyStreams) / connections;
      return (idleBytes + ofStreams) / 2 ** 20;
    });
  return [
    atMost('CPU per JSON request ÷ bare proxy, 64 connections', cpuRatios(models.json), 2),
    atMost(
      'PostgreSQL CPU per JSON request, 64 connections, µs',
      saturated.map((sample) => sample.postgresMicroseconds),
      60,
    ),
    atLeast(
      'JSON requests per second, 64 connections',
      saturated.map(({ perSecond }) => perSecond),
      8_000,
    ),
    atMost('p50 added to direct at one connection, JSON, ms', addedMs(models.json), 0.9),
    atMost('time to first byte added to direct, one stream, ms', addedMs(models.fast), 0.4),
    atMost(`CPU per chunk ÷ bare proxy, 64 streams, ${pacedEveryMs} ms apart`, cpuRatios(models.paced), 1.4),
    atMost('CPU per chunk of Messages, passed on ÷ of chat', passedOnRatios('messages'), 1),
    atMost('CPU per chunk of Responses, passed on ÷ of chat', passedOnRatios('responses'), 1),
    atLeast('hold + settle pairs per second on one account', pairs(1), 12_000),
    atLeast('hold + settle pairs per second on 1,000 accounts', pairs(1_000), 15_000),
    atMost('memory of 10,000 open streams, MB', megabytes, 400),
  ];
}

function atMost(text: string, values: readonly number[], limit: number): Target {
  return target(`${text} ≤ ${limit}`, values, (measured) => measured <= limit);
}

function atLeast(text: string, values: readonly number[], limit: number): Target {
  return target(`${text} ≥ ${limit.toLocaleString('en-US')}`, values, (measured) => measured >= limit);
}

function target(text: string, values: readonly number[], isMet: (measured: number) => boolean): Target {
  const measured = { median: median(values), min: Math.min(...values), max: Math.max(...values) };
  if (!Number.isFinite(measured.median)) return { text, measured, verdict: 'not measured' };
  return { text, measured, verdict: isMet(measured.median) ? 'met' : 'missed' };
}
