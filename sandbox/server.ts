/** The sandbox provider: its routes, and what happens to every request. */

import { chat } from './chat.ts';
import { decisions } from './decisions.ts';
import type { Endpoint } from './endpoint.ts';
import { BadRequest, detailOf, errorBody } from './errors.ts';
import { answerFault, type FlakyCounts } from './faults.ts';
import { images, serveImage } from './images.ts';
import { type KeptEntry, Log, type LogOptions, RequestRecord } from './log.ts';
import { readDirectives } from './scenario.ts';

export type SandboxOptions = LogOptions & { port?: number | undefined; host?: string | undefined };

export type Sandbox = {
  readonly port: number;
  readonly url: string;
  /** The latest requests, oldest first; empty unless `keepEntries` was given. */
  readonly entries: readonly KeptEntry[];
  readonly stop: () => Promise<void>;
};

const modelList = JSON.stringify({
  object: 'list',
  data: ['sandbox-chat', 'sandbox-image', 'sandbox-video'].map((id) => ({
    id,
    object: 'model',
    created: Date.UTC(2026, 10, 1) / 1000,
    owned_by: 'sandbox',
  })),
});
const jsonHeaders = { 'content-type': 'application/json' };

export function startSandbox(options: SandboxOptions = {}): Sandbox {
  const { port = 0, host = '127.0.0.1' } = options;
  const log = new Log(options);
  const flakyCounts: FlakyCounts = new Map();
  let requestCount = 0;

  async function handle<Input>(endpoint: Endpoint<Input>, request: Request): Promise<Response> {
    requestCount += 1;
    const number = requestCount;
    const record = new RequestRecord(log, request);
    try {
      if (!hasValidKey(request)) return refuse(record, 401, 'Incorrect API key provided.', null);
      record.body = await readJson(request);
      describe(record);
      const input = endpoint.read(record.body);
      const reading = readDirectives(endpoint.userText(input));
      record.directives = reading.written;
      const call = { number, input, reading, record, baseUrl: url };
      // Nearly every request asks for no fault, and should not wait a turn to learn that there is none.
      const fault = reading.written.length > 0 ? await answerFault(call, flakyCounts) : null;
      return fault ?? endpoint.answer(call);
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      return refuse(record, 400, error.message, error.param);
    }
  }

  function listModels(request: Request): Response {
    const record = new RequestRecord(log, request);
    if (!hasValidKey(request)) return refuse(record, 401, 'Incorrect API key provided.', null);
    record.finish(200, 'complete', null);
    return new Response(modelList, { headers: jsonHeaders });
  }

  const server = Bun.serve({
    port,
    hostname: host,
    idleTimeout: 0, // A scenario may be silent for as long as it likes.
    development: false,
    routes: {
      '/v1/chat/completions': { POST: (request) => handle(chat, request) },
      '/v1/images/generations': { POST: (request) => handle(images, request) },
      '/v1/decisions': { POST: (request) => handle(decisions, request) },
      '/v1/models': { GET: listModels },
      '/images/:name': { GET: (request) => serveImage(request.params.name) },
      '/healthz': () => Response.json({ sandbox: true }),
    },
    fetch(request) {
      return refuse(new RequestRecord(log, request), 404, 'Unknown request URL.', null);
    },
  });
  const boundPort = server.port ?? port;
  const url = `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${boundPort}`;
  return { port: boundPort, url, entries: log.kept, stop: () => server.stop(true) };
}

/** Any key is good, except one that says it is not. */
function hasValidKey(request: Request): boolean {
  const [scheme, key = ''] = (request.headers.get('authorization') ?? '').split(' ');
  return scheme === 'Bearer' && key !== '' && !key.includes('invalid');
}

async function readJson(request: Request): Promise<unknown> {
  const text = await request.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new BadRequest('The body is not JSON.', null);
  }
}

/** Notes what the request is about before it is checked, so that a refused one is told apart in the log. */
function describe(record: RequestRecord): void {
  const { model, stream } = (record.body ?? {}) as { model?: unknown; stream?: unknown };
  record.model = typeof model === 'string' ? model : null;
  record.stream = stream === true;
}

function refuse(record: RequestRecord, status: number, message: string, param: string | null): Response {
  record.finish(status, 'complete', null);
  return new Response(errorBody(message, { ...detailOf(status), param }), { status, headers: jsonHeaders });
}
