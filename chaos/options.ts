/** What the command line asks for. */
import { parseArgs } from 'node:util';

export type ChaosOptions = Readonly<{
  /** Kills go on for this long; null means until the numbers below are reached. */
  seconds: number | null;
  gatewayKills: number;
  databaseKills: number;
  connections: number;
  seed: number;
  /** How long the database stays away after every second kill; after the others it is started again at once. */
  awayMs: number;
}>;

export const shortForm: ChaosOptions = {
  seconds: null,
  gatewayKills: 10,
  databaseKills: 3,
  connections: 32,
  seed: 1,
  awayMs: 7_000,
};

export const usage = `npm run chaos -- [--seconds N | --gateway-kills N --database-kills N]
                 [--connections N] [--seed N] [--away MS] [--write]
npm run chaos -- --admission ROUNDS [--seed N]
npm run chaos -- --retries NAMES`;

export type Command = Readonly<{
  chaos: ChaosOptions;
  /** Rounds of the admission burst, run instead of the kills. */
  admissionRounds: number | null;
  /** Names for the retries, run instead of the kills. */
  retriedNames: number | null;
  write: boolean;
}>;

/** Throws an Error whose message says which option is wrong. */
export function readOptions(words: readonly string[]): Command {
  const { values } = parseArgs({
    args: [...words],
    options: {
      seconds: { type: 'string' },
      'gateway-kills': { type: 'string' },
      'database-kills': { type: 'string' },
      connections: { type: 'string' },
      seed: { type: 'string' },
      away: { type: 'string' },
      admission: { type: 'string' },
      retries: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  });
  const seconds = values.seconds === undefined ? null : count('seconds', values.seconds);
  return {
    chaos: {
      seconds,
      gatewayKills: count('gateway-kills', values['gateway-kills'], shortForm.gatewayKills),
      databaseKills: count('database-kills', values['database-kills'], shortForm.databaseKills),
      connections: count('connections', values.connections, shortForm.connections),
      seed: count('seed', values.seed, shortForm.seed),
      awayMs: count('away', values.away, shortForm.awayMs),
    },
    admissionRounds: values.admission === undefined ? null : count('admission', values.admission),
    retriedNames: values.retries === undefined ? null : count('retries', values.retries),
    write: values.write,
  };
}

function count(name: string, text: string | undefined, fallback = 0): number {
  if (text === undefined) return fallback;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`--${name} must be a whole number, but is "${text}".`);
}
