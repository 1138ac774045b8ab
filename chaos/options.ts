/** What the command line asks for. */
import { parseArgs } from 'node:util';
import type { Form } from './expect/measurement.ts';
import { expectationNames } from './expect/run.ts';
import { type HostileOptions, hostileForm } from './hostile/run.ts';
import { type ChaosOptions, shortForm } from './trials/options.ts';

export const usage = `npm run chaos -- [--seconds N | --gateway-kills N --database-kills N --freezes N --clock-jumps N]
                 [--hostile-rounds N] [--lease MS] [--connections N] [--seed N] [--away MS] [--write]
npm run chaos -- --hostile [--requests N] [--connections N] [--seed N] [--write]
npm run chaos -- --confirmations ROUNDS
npm run chaos -- --admission ROUNDS [--seed N]
npm run chaos -- --early-calls ROUNDS
npm run chaos -- --retries NAMES
npm run chaos -- --rolling SECONDS
npm run chaos -- --expect all|NAME,… [--seconds N] [--rounds N] [--rate N]
                 where NAME is one of: ${expectationNames.join(', ')}`;

export type Command = Readonly<{
  chaos: ChaosOptions;
  /** Run instead of the kills: a million hostile requests. */
  hostile: HostileOptions | null;
  /** Rounds in which the database’s confirmations are lost, run instead of the kills. */
  confirmationRounds: number | null;
  /** Rounds of the admission burst, run instead of the kills. */
  admissionRounds: number | null;
  /** Rounds of the burst of early calls, run instead of the kills. */
  earlyCallRounds: number | null;
  /** Names for the retries, run instead of the kills. */
  retriedNames: number | null;
  /** Gateways are restarted one by one under streams of this length, run instead of the kills. */
  rollingStreamSeconds: number | null;
  /** What is measured for the operator's guide, run instead of the kills. */
  expectations: Readonly<{ names: readonly string[]; form: Form }> | null;
  write: boolean;
}>;

const expectationForm: Form = { perSecond: 100, seconds: 30, rounds: 10, streamSeconds: 10 };

/** Freezes take long, so a long run has one per this many kills; likewise clock jumps. */
const killsPerFreeze = 20;
const killsPerJump = 10;

const known = {
  seconds: { type: 'string' },
  'gateway-kills': { type: 'string' },
  'database-kills': { type: 'string' },
  freezes: { type: 'string' },
  'clock-jumps': { type: 'string' },
  'hostile-rounds': { type: 'string' },
  lease: { type: 'string' },
  connections: { type: 'string' },
  seed: { type: 'string' },
  away: { type: 'string' },
  hostile: { type: 'boolean', default: false },
  requests: { type: 'string' },
  confirmations: { type: 'string' },
  admission: { type: 'string' },
  'early-calls': { type: 'string' },
  retries: { type: 'string' },
  rolling: { type: 'string' },
  expect: { type: 'string' },
  rounds: { type: 'string' },
  rate: { type: 'string' },
  write: { type: 'boolean', default: false },
} as const;

/** Throws an Error whose message says which option is wrong. */
export function readOptions(words: readonly string[]): Command {
  const { values } = parseArgs({ args: [...words], options: known });
  const seconds = values.seconds === undefined ? null : count('seconds', values.seconds);
  const gatewayKills = count('gateway-kills', values['gateway-kills'], shortForm.gatewayKills);
  const oneIn = (rarity: number, least: number) => Math.max(least, Math.round(gatewayKills / rarity));
  const seed = count('seed', values.seed, shortForm.seed);
  return {
    chaos: {
      seconds,
      gatewayKills,
      databaseKills: count('database-kills', values['database-kills'], shortForm.databaseKills),
      freezes: count('freezes', values.freezes, oneIn(killsPerFreeze, shortForm.freezes)),
      clockJumps: count('clock-jumps', values['clock-jumps'], oneIn(killsPerJump, shortForm.clockJumps)),
      hostileRounds: count('hostile-rounds', values['hostile-rounds'], shortForm.hostileRounds),
      hostileMs: shortForm.hostileMs,
      leaseMs: count('lease', values.lease, shortForm.leaseMs),
      connections: count('connections', values.connections, shortForm.connections),
      seed,
      awayMs: count('away', values.away, shortForm.awayMs),
    },
    hostile: values.hostile
      ? {
          requests: count('requests', values.requests, hostileForm.requests),
          connections: count('connections', values.connections, hostileForm.connections),
          seed,
        }
      : null,
    confirmationRounds:
      values.confirmations === undefined ? null : count('confirmations', values.confirmations),
    admissionRounds: values.admission === undefined ? null : count('admission', values.admission),
    earlyCallRounds: values['early-calls'] === undefined ? null : count('early-calls', values['early-calls']),
    retriedNames: values.retries === undefined ? null : count('retries', values.retries),
    rollingStreamSeconds: values.rolling === undefined ? null : count('rolling', values.rolling),
    expectations:
      values.expect === undefined
        ? null
        : {
            names: readNames(values.expect),
            form: {
              ...expectationForm,
              seconds: seconds ?? expectationForm.seconds,
              rounds: count('rounds', values.rounds, expectationForm.rounds),
              perSecond: count('rate', values.rate, expectationForm.perSecond),
            },
          },
    write: values.write,
  };
}

function readNames(text: string): readonly string[] {
  if (text === 'all') return expectationNames;
  const names = text.split(',');
  const unknown = names.find((name) => !expectationNames.includes(name));
  if (unknown !== undefined) throw new Error(`--expect does not know "${unknown}".`);
  return names;
}

function count(name: string, text: string | undefined, fallback = 0): number {
  if (text === undefined) return fallback;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`--${name} must be a whole number, but is "${text}".`);
}
