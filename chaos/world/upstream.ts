/** The provider of a chaos run: the sandbox in its own process, which is never killed, and the log it keeps. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import type { LogEntry } from '../../sandbox/log.ts';
import { freePort, startUpstream, statusOf } from './program.ts';

const startDeadlineMs = 30_000;

/** What was read from a cache or written to one is part of the input, unless the provider contradicts itself. */
export type Usage = Readonly<{
  inputTokens: number;
  outputTokens: number;
  readTokens?: number;
  writtenTokens?: number;
}>;

/** One call that the provider got, from its log. */
export type ProviderCall = Readonly<{
  requestId: string;
  /** The provider in the catalogue for which it was made. */
  provider: string;
  /** The token of the client's request, which travels inside the message. */
  token: string | null;
  usage: Usage | null;
  ended: LogEntry['ended'];
  /** When the provider got it. */
  calledAtMs: number;
}>;

export class Upstream {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly #process: Subprocess;
  readonly #logFile: string;

  private constructor(port: number, logFile: string, process: Subprocess) {
    this.port = port;
    this.#logFile = logFile;
    this.#process = process;
  }

  static async start(folder: string): Promise<Upstream> {
    const port = freePort();
    const logFile = join(folder, 'upstream.jsonl');
    const upstream = new Upstream(
      port,
      logFile,
      startUpstream(port, logFile, join(folder, 'upstream.output')),
    );
    const deadline = Date.now() + startDeadlineMs;
    while ((await statusOf(`http://127.0.0.1:${port}/healthz`)) !== 200) {
      if (Date.now() > deadline) throw new Error('The sandbox does not start.');
      await Bun.sleep(20);
    }
    return upstream;
  }

  calls(): ProviderCall[] {
    return readFileSync(this.#logFile, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => callOf(JSON.parse(line) as LogEntry));
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#process.exited;
  }
}

function callOf(entry: LogEntry): ProviderCall {
  const said = entry.directives.find((directive) => directive.startsWith('say '));
  return {
    requestId: entry.client_request_id ?? '',
    provider: entry.model ?? '',
    token: said?.split(' ')[1] ?? null,
    usage: usageOf(entry.usage),
    ended: entry.ended,
    calledAtMs: Date.parse(entry.received_at),
  };
}

function usageOf(reported: LogEntry['usage']): Usage | null {
  const inputTokens = reported?.prompt_tokens;
  const outputTokens = reported?.completion_tokens;
  if (!isCount(inputTokens) || !isCount(outputTokens)) return null;
  const details = (reported?.prompt_tokens_details ?? {}) as Readonly<Record<string, unknown>>;
  const { cached_tokens: readTokens = 0, cache_write_tokens: writtenTokens = 0 } = details;
  if (!isCount(readTokens) || !isCount(writtenTokens)) return null;
  return { inputTokens, outputTokens, readTokens, writtenTokens };
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
