/** What is asked of every subject. The request's text tells the upstream how to respond, whatever a peer calls the model. */

export const models = {
  /** One JSON answer. */
  json: 'bench-json',
  /** A stream that is written as fast as possible: each event in its own write, one turn of the event loop apart. */
  fast: 'bench-fast',
  /** A stream with a pause after each event, as models write, so that no two of them arrive in one read. */
  paced: 'bench-paced',
  /** A stream that drips, for a minute and a half unless the bench ends it earlier. */
  held: 'bench-held',
} as const;
export type Model = (typeof models)[keyof typeof models];

export const contentChunks = 100;
/** The role, the content, the finish, the usage, and the end marker. The gateway sends as many as it gets. */
export const eventsPerStream = contentChunks + 4;
export const pacedEveryMs = 5;
export const heldEveryMs = 1_000;

export type Scenario = Readonly<{
  title: string;
  unit: 'request' | 'chunk';
  model: Model;
  connections: number;
  /** Requests arrive at this rate, whatever the subject does. Without it each connection sends the next after a response. */
  perSecond?: number;
}>;

/** Where requests go. They take the keys in turn. */
export type Target = Readonly<{
  hostname: string;
  port: number;
  path: string;
  keys: readonly string[];
  /** Further header lines. */
  headers: readonly string[];
  /** What the target calls the model; null for the names of the bench. */
  model: string | null;
  /** Whether it sends one event for each that it gets. Others may merge them or add some. */
  passesEventsSingly: boolean;
}>;

export function localTarget(port: number, keys: readonly string[]): Target {
  return {
    hostname: '127.0.0.1',
    port,
    path: '/v1/chat/completions',
    keys,
    headers: [],
    model: null,
    passesEventsSingly: true,
  };
}

export const defaultRate = 500;

/** `rate` is the same for all subjects, far below what any of them can do: what a request costs when nothing waits. */
export function scenariosAt(rate: number): readonly Scenario[] {
  const json = { unit: 'request', model: models.json } as const;
  return [
    { ...json, title: 'JSON', connections: 1 },
    { ...json, title: 'JSON', connections: 64 },
    {
      ...json,
      title: `JSON, ${rate.toLocaleString('en-US')} arriving per second`,
      connections: 64,
      perSecond: rate,
    },
    { title: 'stream, unpaced', unit: 'chunk', model: models.fast, connections: 1 },
    { title: 'stream, unpaced', unit: 'chunk', model: models.fast, connections: 64 },
    { title: `stream, ${pacedEveryMs} ms apart`, unit: 'chunk', model: models.paced, connections: 64 },
  ];
}

export function requestBody(model: Model, name: string | null = null): string {
  return JSON.stringify({
    model: name ?? model,
    messages: [
      {
        role: 'system',
        content: `You are a helpful assistant that answers briefly and to the point. (${model})`,
      },
      { role: 'user', content: 'Explain in a few sentences why the sky is blue and the sunset is red.' },
    ],
    temperature: 0.7,
    max_tokens: 500,
    ...(model === models.json ? {} : { stream: true, stream_options: { include_usage: true } }),
  });
}

/** The whole request with each key, made once: a load generator that builds strings would measure itself. */
export function requestBytes(
  { hostname, port, path, keys, headers, model: name }: Target,
  model: Model,
): Buffer[] {
  const body = requestBody(model, name);
  return keys.map((key) => {
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: ${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`,
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      `Accept: ${model === models.json ? 'application/json' : 'text/event-stream'}`,
      'User-Agent: tollgate-bench',
      ...headers,
      `Content-Length: ${Buffer.byteLength(body)}`,
    ].join('\r\n');
    return Buffer.from(`${head}\r\n\r\n${body}`);
  });
}
