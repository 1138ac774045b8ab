/**
 * JSON lines on standard output. A field that is not named here cannot be logged: no key, cookie, prompt or body of a
 * provider reaches a log by being passed along with something else.
 */

import { writeSync } from 'node:fs';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export type LogFields = Readonly<{
  requestId?: string;
  generationId?: string;
  method?: string;
  route?: string;
  status?: number;
  code?: string;
  latencyMs?: number;
  keyId?: string;
  accountId?: string;
  nodeId?: string;
  model?: string;
  provider?: string;
  upstreamStatus?: number;
  inputTokens?: number;
  outputTokens?: number;
  /** How long a provider is not called. */
  pauseMs?: number;
  /** How far a clock is ahead. */
  offsetMs?: number;
  address?: string;
  signal?: string;
  file?: string;
  priceVersion?: string;
  count?: number;
  problems?: readonly string[];
  error?: unknown;
}>;

const allowedFields = new Set<string>([
  'requestId',
  'generationId',
  'method',
  'route',
  'status',
  'code',
  'latencyMs',
  'keyId',
  'accountId',
  'nodeId',
  'model',
  'provider',
  'upstreamStatus',
  'inputTokens',
  'outputTokens',
  'pauseMs',
  'offsetMs',
  'address',
  'signal',
  'file',
  'priceVersion',
  'count',
  'problems',
  'error',
] satisfies (keyof LogFields)[]);

export type Log = Readonly<Record<LogLevel, (event: string, fields?: LogFields) => void>>;

const flushMs = 20;
const maxMessageLength = 1_000;
const severities: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export function createLog(level: LogLevel, write: (line: string) => void = bufferedOutput()): Log {
  const at =
    (severity: LogLevel) =>
    (event: string, fields: LogFields = {}) => {
      if (severities[severity] >= severities[level]) write(`${formatLine(severity, event, fields)}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Lines of the same moment leave in one write, because a write for each would cost a busy gateway more than making them. */
function bufferedOutput(): (line: string) => void {
  let pendingLines = '';
  const flush = () => {
    process.off('exit', flushAtExit);
    process.stdout.write(pendingLines);
    pendingLines = '';
  };
  // Nobody waits for an asynchronous write at that time.
  const flushAtExit = () => writeSync(1, pendingLines);
  return (line) => {
    if (pendingLines === '') {
      setTimeout(flush, flushMs);
      process.on('exit', flushAtExit);
    }
    pendingLines += line;
  };
}

function formatLine(level: LogLevel, event: string, fields: LogFields): string {
  const line: Record<string, unknown> = { at: new Date().toISOString(), level, event };
  for (const [name, value] of Object.entries(fields)) {
    if (allowedFields.has(name)) line[name] = name === 'error' ? describe(value) : value;
  }
  return JSON.stringify(line);
}

/** The message of an error and of its causes, with its place in the code. */
function describe(error: unknown): unknown {
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, cause } = error;
  const code = codeOf(error);
  return {
    name,
    ...(code === null ? {} : { code }),
    message: (namesThingsOnly.test(code ?? '') ? error.message : withoutValues(error.message)).slice(
      0,
      maxMessageLength,
    ),
    stack: placesIn(error),
    ...(cause === undefined ? {} : { cause: describe(cause) }),
  };
}

/** PostgreSQL's messages of these classes quote tables, columns and constraints; a value stands in their detail only. */
const namesThingsOnly = /^(23|42)[0-9A-Z]{3}$/;

/** PostgreSQL's own code where there is one, which is more specific than the driver's. */
function codeOf(error: Error): string | null {
  if ('errno' in error && typeof error.errno === 'string') return error.errno;
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/**
 * Libraries quote in their messages what they stumbled over, and that may be a prompt, an answer or a key. What is quoted
 * may hold quotes itself, so everything from the first quote on is left out. An apostrophe follows a letter and is none.
 */
function withoutValues(message: string): string {
  const start = message.search(/["`]|(?<![A-Za-z])'/);
  return start < 0 ? message : `${message.slice(0, start)}…`;
}

/** The stack repeats the message first, and a message may look like a place. */
function placesIn({ name, message, stack = '' }: Error): string[] {
  const head = [`${name}: ${message}`, message].find((text) => text !== '' && stack.startsWith(text)) ?? '';
  const lines = stack.slice(head.length).split('\n');
  return lines.flatMap((line) => (/^\s+at /.test(line) ? [line.trim()] : []));
}
