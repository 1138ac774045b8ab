/** The sandbox provider: its routes, and the life of a request. */

import { readAnthropicChat } from './anthropic-request.ts';
import { anthropic } from './anthropic-wire.ts';
import { chatEndpoint } from './chat.ts';
import { decisions } from './decisions.ts';
import type { Endpoint } from './endpoint.ts';
import { BadRequest, type Failure, privateHeaders } from './errors.ts';
import { answerFault, FaultMemory } from './faults.ts';
import type { Format } from './format.ts';
import { generateContent, predict, streamGenerateContent } from './google.ts';
import { google } from './google-wire.ts';
import { images, serveImage } from './images.ts';
import { Log, type LogOptions, RequestRecord, type StoredEntry } from './log.ts';
import { readOpenaiChat } from './openai-request.ts';
import { openai } from './openai-wire.ts';
import { readResponses } from './responses-request.ts';
import { responses } from './responses-wire.ts';
import { mergeReadings, type Reading, readDirectives } from './scenario.ts';

export type SandboxOptions = LogOptions & {
  port?: number | undefined;
  host?: string | undefined;
  directives?: string | undefined;
};

export type Sandbox = {
  readonly port: number;
  readonly url: string;
  /** Directives for every request, as if its user had written them. Those of a request override them. */
  directives: string;
  /** The latest requests, oldest first; empty unless `keepEntries` was given. */
  readonly entries: readonly StoredEntry[];
  readonly stop: () => Promise<void>;
};

const openaiChat = chatEndpoint(openai, readOpenaiChat);
const responsesChat = chatEndpoint(responses, readResponses);
const anthropicChat = chatEndpoint(anthropic, readAnthropicChat);

const modelList = JSON.stringify({
  object: 'list',
  data: ['sandbox-chat', 'sandbox-image', 'sandbox-video'].map((id) => ({
    id,
    object: 'model',
    created: Date.UTC(2026, 10, 1) / 1000,
    owned_by: 'sandbox',
  })),
});

export function startSandbox(options: SandboxOptions = {}): Sandbox {
  const { port = 0, host = '127.0.0.1' } = options;
  const log = new Log(options);
  const provider = new Provider(log, options.directives ?? '');
  const server = Bun.serve({
    port,
    hostname: host,
    idleTimeout: 0, // A scenario may be silent for any length of time.
    development: false,
    routes: {
      '/v1/chat/completions': { POST: (request) => provider.handle(openaiChat, request) },
      '/v1/responses': { POST: (request) => provider.handle(responsesChat, request) },
      '/v1/images/generations': { POST: (request) => provider.handle(images, request) },
      '/v1/messages': { POST: (request) => provider.handle(anthropicChat, request) },
      '/v1beta/models/:action': { POST: (request) => provider.handleGoogle(request) },
      '/v1/decisions': { POST: (request) => provider.handle(decisions, request) },
      '/v1/models': { GET: (request) => provider.listModels(request) },
      '/images/:name': { GET: (request) => serveImage(request.params.name) },
      '/healthz': () => Response.json({ sandbox: true }, { headers: privateHeaders }),
    },
    fetch: (request) => provider.notFound(request),
  });
  const boundPort = server.port ?? port;
  const url = `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${boundPort}`;
  provider.baseUrl = url;
  return {
    port: boundPort,
    url,
    get directives() {
      return provider.directives;
    },
    set directives(text) {
      provider.directives = text;
    },
    entries: log.stored,
    stop: () => server.stop(true),
  };
}

/** Answers the requests to all endpoints, and numbers them. */
class Provider {
  /** Where the images in its answers are. */
  baseUrl = '';
  readonly #log: Log;
  readonly #memory = new FaultMemory();
  #requestCount = 0;
  #directives: string;
  #standing: Reading | null;

  constructor(log: Log, directives: string) {
    this.#log = log;
    this.#directives = directives;
    this.#standing = readStanding(directives);
  }

  get directives(): string {
    return this.#directives;
  }

  set directives(text: string) {
    this.#standing = readStanding(text);
    this.#directives = text;
  }

  async handle<Input>(endpoint: Endpoint<Input>, request: Request): Promise<Response> {
    this.#requestCount += 1;
    const number = this.#requestCount;
    const record = new RequestRecord(this.#log, request);
    const { format } = endpoint;
    try {
      const rejection = format.rejection(request.headers);
      if (rejection !== null) return reject(format, record, number, rejection);
      record.body = await readJson(request);
      describe(record, endpoint.about);
      const input = endpoint.read(record.body);
      const own = readDirectives(endpoint.userText(input));
      const reading = this.#standing === null ? own : mergeReadings(this.#standing, own);
      record.directives = reading.written;
      const call = { format, number, input, reading, record, baseUrl: this.baseUrl };
      // Most requests ask for no fault and skip the await.
      const fault = reading.written.length > 0 ? await answerFault(call, this.#memory) : null;
      return fault ?? endpoint.answer(call);
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      return reject(format, record, number, { status: 400, message: error.message, param: error.param });
    }
  }

  /** The path ends with the model, a colon and the method. */
  handleGoogle(request: Bun.BunRequest<'/v1beta/models/:action'>): Promise<Response> | Response {
    const { action } = request.params;
    const colon = action.lastIndexOf(':');
    const model = action.slice(0, colon);
    switch (action.slice(colon + 1)) {
      case 'generateContent':
        return this.handle(generateContent(model), request);
      case 'streamGenerateContent':
        return this.handle(
          streamGenerateContent(model, new URL(request.url).searchParams.get('alt')),
          request,
        );
      case 'predict':
        return this.handle(predict(model), request);
      default:
        return this.notFound(request);
    }
  }

  listModels(request: Request): Response {
    this.#requestCount += 1;
    const record = new RequestRecord(this.#log, request);
    const rejection = openai.rejection(request.headers);
    if (rejection !== null) return reject(openai, record, this.#requestCount, rejection);
    record.finish(200, 'complete', null);
    return new Response(modelList, { headers: openai.headers(this.#requestCount, 'application/json') });
  }

  notFound(request: Request): Response {
    this.#requestCount += 1;
    const record = new RequestRecord(this.#log, request);
    const failure = { status: 404, message: 'Unknown request URL.' };
    return reject(formatAt(new URL(request.url).pathname), record, this.#requestCount, failure);
  }
}

/** Null if there are none, so that most requests need no merge. */
function readStanding(text: string): Reading | null {
  const reading = readDirectives(text);
  // Forgotten brackets would turn a fault test into a test of nothing.
  if (reading.plainText !== '') throw new Error(`This text is not a directive: ${text}`);
  return reading.written.length === 0 ? null : reading;
}

function formatAt(path: string): Format {
  if (path.startsWith('/v1beta/')) return google;
  return path === '/v1/messages' ? anthropic : openai;
}

async function readJson(request: Request): Promise<unknown> {
  const text = await request.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new BadRequest('The body is not JSON.', null);
  }
}

/** Records the model and mode before validation, so that the log identifies rejected requests too. */
function describe(record: RequestRecord, about: Endpoint<unknown>['about']): void {
  const { model, stream } = about ?? ((record.body ?? {}) as { model?: unknown; stream?: unknown });
  record.model = typeof model === 'string' ? model : null;
  record.stream = stream === true;
}

function reject(format: Format, record: RequestRecord, number: number, failure: Failure): Response {
  record.finish(failure.status, 'complete', null);
  const headers = format.headers(number, 'application/json');
  return new Response(format.errorBody(failure, number), { status: failure.status, headers });
}
