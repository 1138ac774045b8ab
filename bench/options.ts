/** The command line of the bench. Throws an error that says what is wrong with it. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Comparison, comparisonNamed } from './compare.ts';
import { peerTarget } from './peer.ts';
import { defaultRate, type Target } from './scenarios.ts';
import { defaultUpstreamPort } from './upstream-port.ts';

export type Options = Readonly<{
  isQuick: boolean;
  isWritten: boolean;
  comparison: Comparison | null;
  curves: Readonly<{ maxGenerations: number }> | null;
  /** Whether gateways are measured as they are deployed. */
  areDeployments: boolean;
  /** How many streams are open while memory is measured. */
  openStreams: number;
  /** Requests per second, the same for all subjects. */
  rate: number;
  peer: Target | null;
  /** The folder of another checkout, whose gateway is one more subject. */
  beforeFolder: string | null;
  /** Null for as many as the run usually has. */
  rounds: number | null;
  /** Null for any free port. */
  upstreamPort: number | null;
}>;

export const defaultStreams = 1_000;
const defaultMaxGenerations = 1_000_000;

export function parseOptions(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      compare: { type: 'string' },
      curves: { type: 'boolean', default: false },
      deployments: { type: 'boolean', default: false },
      'max-generations': { type: 'string' },
      streams: { type: 'string' },
      rate: { type: 'string' },
      before: { type: 'string' },
      rounds: { type: 'string' },
      against: { type: 'string' },
      key: { type: 'string' },
      model: { type: 'string' },
      header: { type: 'string', multiple: true },
      'upstream-port': { type: 'string' },
    },
  });
  const { compare, against, curves, deployments } = values;
  const modes = [compare, against, curves || undefined, deployments || undefined].filter(
    (mode) => mode !== undefined,
  );
  if (modes.length > 1)
    throw new Error('--compare, --against, --curves and --deployments are different runs: choose one.');
  if (values['max-generations'] !== undefined && !values.curves)
    throw new Error('--max-generations needs --curves.');
  const isForPeer = [values.key, values.model, values.header].some((value) => value !== undefined);
  if (isForPeer && values.against === undefined)
    throw new Error('--key, --model and --header need --against.');
  const upstreamPort = wholeNumber('--upstream-port', values['upstream-port'], 1, 65_535);
  return {
    isQuick: values.quick,
    isWritten: values.write,
    comparison: values.compare === undefined ? null : comparisonNamed(values.compare),
    curves: values.curves
      ? {
          maxGenerations:
            wholeNumber('--max-generations', values['max-generations'], 10_000, 100_000_000) ??
            defaultMaxGenerations,
        }
      : null,
    areDeployments: deployments,
    openStreams: wholeNumber('--streams', values.streams, 1, 100_000) ?? defaultStreams,
    rate: wholeNumber('--rate', values.rate, 1, 20_000) ?? defaultRate,
    beforeFolder: values.before === undefined ? null : resolve(values.before),
    rounds: wholeNumber('--rounds', values.rounds, 1, 100),
    peer:
      values.against === undefined
        ? null
        : peerTarget(values.against, values.key ?? '', values.model ?? null, values.header ?? []),
    upstreamPort: upstreamPort ?? (values.against === undefined ? null : defaultUpstreamPort),
  };
}

function wholeNumber(name: string, text: string | undefined, min: number, max: number): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new Error(`${name} takes a whole number from ${min} to ${max}.`);
  return value;
}

/** How to repeat the run. Without the key, which is a secret. */
export function commandOf(options: Options): string {
  const { isQuick, curves, areDeployments, openStreams, rate, peer, beforeFolder, rounds } = options;
  const words = [
    ...(isQuick ? ['--quick'] : []),
    ...(curves === null ? [] : ['--curves', '--max-generations', `${curves.maxGenerations}`]),
    ...(areDeployments ? ['--deployments'] : []),
    ...(openStreams === defaultStreams ? [] : ['--streams', `${openStreams}`]),
    ...(rate === defaultRate ? [] : ['--rate', `${rate}`]),
    ...(rounds === null ? [] : ['--rounds', `${rounds}`]),
    // Where it is on this machine does not matter.
    ...(beforeFolder === null ? [] : ['--before', 'FOLDER']),
    ...(peer === null ? [] : ['--against', `http://${peer.hostname}:${peer.port}`]),
  ];
  return words.length === 0 ? 'npm run bench' : `npm run bench -- ${words.join(' ')}`;
}
