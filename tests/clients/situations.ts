/** What an agent's user may get into, which requests may come of it, and what the agent has to print. */
import { type Agent, taskText } from './agents.ts';
import { expensiveModel, formatModels } from './formats.ts';
import { unlimited } from './gateway.ts';

export type Situation = Readonly<{
  name: string;
  model: string;
  /** Of the account that it runs into this with, in USD. */
  credit: string;
  requestsPerMinute: number;
  /** Whether the agent may retry as often as it does by default. */
  retries: boolean;
  prompt: (agent: Agent, file: string) => string;
  /** Whether the second answer breaks off, once. */
  breaksOnce: boolean;
  /** What the file has in the end: all of the task, the first half of it, or nothing. Unless it is all, the agent reports a failure. */
  written: string | null;
  /** What became of each request, in order: 200, or the code of its error. By agent. */
  requests: Readonly<Record<string, RegExp>>;
  /** What tells the user what to do, by agent. */
  printed: Readonly<Record<string, RegExp>>;
}>;

const usual = {
  model: formatModels.Messages,
  credit: '10',
  requestsPerMinute: unlimited,
  retries: true,
  prompt: ({ task }: Agent, file: string) => `${task(file, false)} Write the notes.`,
  breaksOnce: false,
  written: null,
};

const both = (expected: RegExp) => ({ 'Claude Code': expected, Codex: expected });

const toAddCredit = /needs at least \$\d.* is available\. .*Add credit to the account\./s;
const toTryAgain = /The (?:stream from the provider failed|provider is unavailable)\..*try again/is;
/** What it is told in the end. */
const theResult = /The tools returned: .*updated/is;

export const situations: readonly Situation[] = [
  {
    ...usual,
    name: 'no credit',
    credit: '0.0001',
    requests: { 'Claude Code': /^insufficient_balance$/, Codex: /^(insufficient_balance ?){6}$/ },
    printed: both(toAddCredit),
  },
  {
    ...usual,
    name: 'a balance that runs out',
    model: expensiveModel,
    // For every request at least 1,024 tokens of output are held, which is 0.02048 USD: enough for one.
    credit: '0.034',
    prompt: (agent, file) => `[[usage 1000 1000]] [[cached 700]] ${usual.prompt(agent, file)}`,
    written: taskText.first,
    requests: { 'Claude Code': /^200 insufficient_balance$/, Codex: /^200 (insufficient_balance ?){6}$/ },
    printed: both(toAddCredit),
  },
  {
    ...usual,
    name: 'a limit of requests',
    requestsPerMinute: 2,
    written: taskText.last,
    // It is refused once: the next request comes after the time that it was told to wait.
    requests: both(/^200 200 rate_limit_exceeded 200$/),
    printed: both(theResult),
  },
  {
    ...usual,
    name: 'a limit of requests, without retries',
    requestsPerMinute: 1,
    retries: false,
    written: taskText.first,
    requests: both(/^200 rate_limit_exceeded$/),
    printed: {
      'Claude Code': /exceeded its limit of requests per minute/,
      Codex: /exceeded retry limit, last status: 429 Too Many Requests/,
    },
  },
  {
    ...usual,
    name: 'a stream that breaks once',
    breaksOnce: true,
    written: taskText.last,
    requests: both(/^200 provider_stream_error 200 200$/),
    printed: both(theResult),
  },
  {
    ...usual,
    name: 'streams that break, without further retries',
    retries: false,
    prompt: () => '[[long 20]] [[cut 3]] Hello',
    // After a broken stream, Claude Code asks once more without streaming.
    requests: {
      'Claude Code': /^provider_stream_error provider_unavailable$/,
      Codex: /^provider_stream_error$/,
    },
    printed: both(toTryAgain),
  },
  {
    ...usual,
    name: 'an unknown model',
    model: 'no-such-model',
    requests: { 'Claude Code': /^model_not_found model_not_found$/, Codex: /^model_not_found$/ },
    printed: {
      'Claude Code': /no-such-model.*may not exist.*--model/s,
      Codex: /This model does not exist\. GET \/v1\/models lists the models/,
    },
  },
];
