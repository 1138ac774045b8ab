/**
 * JSON lines on standard output, or short ones on a terminal. A field that is not listed here cannot be logged, so that
 * no key, cookie, prompt or provider's body gets into a log along with something else.
 */
import { writeSync } from 'node:fs';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

const textFields = [
  'requestId',
  'generationId',
  'method',
  'route',
  'code',
  // The system's name for a connection error.
  'reason',
  'keyId',
  'accountId',
  'paymentId',
  'nodeId',
  'model',
  'provider',
  'address',
  'signal',
  'file',
  'folder',
  'priceVersion',
  'outcome',
  // Whether a provider was called before the hold was committed.
  'early',
] as const;
const numberFields = [
  'status',
  'latencyMs',
  'durationMs',
  'firstTokenMs',
  'costUsd',
  'upstreamStatus',
  'inputTokens',
  'outputTokens',
  // How long a provider is not called.
  'pauseMs',
  // How far a clock is ahead.
  'offsetMs',
  'count',
  // Which of the processes of a gateway, from 1.
  'worker',
  // Of another process, as the operating system numbers them.
  'processId',
] as const;

export type LogFields = Readonly<{ [Name in (typeof textFields)[number]]?: string }> &
  Readonly<{ [Name in (typeof numberFields)[number]]?: number }> &
  Readonly<{ problems?: readonly string[]; error?: unknown }>;

const allowedFields = new Set<string>([...textFields, ...numberFields, 'problems', 'error']);

export type Log = Readonly<Record<LogLevel, (event: string, fields?: LogFields) => void>>;

const flushMs = 20;
const maxMessageLength = 1_000;
const severities: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Null for what is not worth a line. */
type Format = (level: LogLevel, event: string, fields: LogFields) => string | null;

/** `format` is for tests: people at a terminal get lines that they can read, programs get JSON. */
export function createLog(
  level: LogLevel,
  write: (line: string) => void = process.stdout.isTTY ? writeNow : bufferedOutput(),
  format: Format = process.stdout.isTTY ? formatForTerminal : formatLine,
): Log {
  const at =
    (severity: LogLevel) =>
    (event: string, fields: LogFields = {}) => {
      if (severities[severity] < severities[level]) return;
      const line = format(severity, event, fields);
      if (line !== null) write(`${line}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** A person at a terminal sees each line before the next step, which may keep the process busy for seconds. */
function writeNow(line: string): void {
  process.stdout.write(line);
}

/** Lines are written in batches, because a write for each would cost a busy gateway more than formatting them. */
function bufferedOutput(): (line: string) => void {
  let pendingLines = '';
  const flush = () => {
    process.off('exit', flushAtExit);
    process.stdout.write(pendingLines);
    pendingLines = '';
  };
  // An asynchronous write would not finish at that point.
  const flushAtExit = () => {
    try {
      writeSync(1, pendingLines);
    } catch {
      // Nobody reads the log any more, as after `tollgate serve | head`.
    }
  };
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

const colors: Readonly<Record<LogLevel, string>> = {
  debug: '\u001b[2m',
  info: '',
  warn: '\u001b[33m',
  error: '\u001b[31m',
};

/** One line: the time and what happened, and only the message of an error. */
export function formatForTerminal(level: LogLevel, event: string, fields: LogFields): string | null {
  if (isOfBrowser(fields)) return null;
  const time = new Date().toTimeString().slice(0, 8);
  const isRequest = fields.method !== undefined;
  const line = (isRequest ? requestParts(fields) : eventParts(event, fields)).join('  ');
  const color = colors[isRequest ? levelOf(fields.status ?? 0) : level];
  return `\u001b[2m${time}\u001b[0m ${color}${line}${color === '' ? '' : '\u001b[0m'}`;
}

/**
 * One click in the dashboard makes a dozen requests, which would push everything else off the screen. It also asks who is
 * signed in before it shows the sign-in page, and nothing is wrong when nobody is.
 */
function isOfBrowser({ method, route = '', status = 0, code }: LogFields): boolean {
  if (method !== 'GET' || route.startsWith('/v1/')) return false;
  return status < 400 || (route === '/api/console/me' && code === 'session_required');
}

function eventParts(event: string, { error, ...rest }: LogFields): string[] {
  const details = Object.entries(rest).flatMap(([name, value]) =>
    allowedFields.has(name) && value !== undefined ? [`${name}=${printable(value)}`] : [],
  );
  return [event, ...details, ...(error instanceof Error ? [messageOf(error)] : [])];
}

/** What a person wants to see of a request. Its ID leads to the rest, in the dashboard and in the API. */
function requestParts(fields: LogFields): string[] {
  const { method, route, status, latencyMs, model, provider, code, requestId } = fields;
  const { inputTokens = 0, outputTokens = 0, costUsd } = fields;
  return [
    `${method} ${route} ${status} ${latencyMs} ms`,
    ...(model === undefined ? [] : [provider === undefined ? model : `${model} via ${provider}`]),
    ...(inputTokens + outputTokens > 0 ? [`${inputTokens} + ${outputTokens} tokens`] : []),
    ...(costUsd === undefined ? [] : [`$${costUsd.toFixed(12).replace(/\.?0+$/, '')}`]),
    ...(code === undefined ? [] : [code]),
    ...(requestId === undefined ? [] : [requestId]),
  ].map(printable);
}

function levelOf(status: number): LogLevel {
  if (status >= 500) return 'error';
  return status >= 400 ? 'warn' : 'info';
}

/** What a provider or a client sent must not move the cursor. */
function printable(value: unknown): string {
  return String(value).replace(/[\p{Cc}\p{Cf}]/gu, '·');
}

/** The message and stack of an error and of its causes. */
function describe(error: unknown): unknown {
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, cause } = error;
  const code = codeOf(error);
  return {
    name,
    ...(code === null ? {} : { code }),
    message: messageOf(error),
    stack: placesIn(error),
    ...(cause === undefined ? {} : { cause: describe(cause) }),
  };
}

function messageOf(error: Error): string {
  const isSafe = namesThingsOnly.test(codeOf(error) ?? '');
  return (isSafe ? error.message : withoutValues(error.message)).slice(0, maxMessageLength);
}

/** PostgreSQL's messages of these classes quote tables, columns and constraints; values are only in their detail. */
const namesThingsOnly = /^(23|42)[0-9A-Z]{3}$/;

/** PostgreSQL's own code where there is one, which is more specific than the driver's. */
function codeOf(error: Error): string | null {
  if ('errno' in error && typeof error.errno === 'string') return error.errno;
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/**
 * Libraries quote the offending input in their messages, and that may be a prompt, an answer or a key. It may contain
 * quotes itself, so everything from the first quote on is dropped. An apostrophe follows a letter and is not a quote.
 */
function withoutValues(message: string): string {
  const start = message.search(/["`]|(?<![A-Za-z])'/);
  return start < 0 ? message : `${message.slice(0, start)}…`;
}

/** The stack starts with the message, which may itself look like a stack frame. */
function placesIn({ name, message, stack = '' }: Error): string[] {
  const head = [`${name}: ${message}`, message].find((text) => text !== '' && stack.startsWith(text)) ?? '';
  const lines = stack.slice(head.length).split('\n');
  return lines.flatMap((line) => (/^\s+at /.test(line) ? [line.trim()] : []));
}
