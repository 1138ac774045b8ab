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
  /** One JSON answer, as late as a real model's. */
  lateJson: 'bench-late-json',
  /** A paced stream that begins as late as a real model's. */
  lateStream: 'bench-late-stream',
  /** The same without pauses: many of them fit into the time in which little happens on one connection. */
  lateFast: 'bench-late-fast',
} as const;
export type Model = (typeof models)[keyof typeof models];
/** Those that a peer is asked for. */
export const peerModels = Object.values(models).filter((model) => model !== models.lateFast);

export function isStreamed(model: Model): boolean {
  return model !== models.json && model !== models.lateJson;
}

/** Whether the upstream notes when it was asked and when it answered. */
export function isLate(model: Model): boolean {
  return model === models.lateJson || model === models.lateStream || model === models.lateFast;
}

/** What clients and the upstream speak. The gateway passes the last two on to an upstream of the same format. */
export const formats = ['chat', 'messages', 'responses'] as const;
export type Format = (typeof formats)[number];

export const paths: Readonly<Record<Format, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

export const contentChunks = 100;
/** The content and what surrounds it. The gateway sends as many as it gets. */
export const eventsPerStream: Readonly<Record<Format, number>> = {
  chat: contentChunks + 4,
  messages: contentChunks + 5,
  responses: contentChunks + 8,
};
export const pacedEveryMs = 5;
/** As long as a fast model takes to its first token. */
export const lateByMs = 200;
export const heldEveryMs = 1_000;

export type Scenario = Readonly<{
  title: string;
  unit: 'request' | 'chunk';
  model: Model;
  /** Chat completions without it. */
  format?: Format;
  connections: number;
  /** Requests arrive at this rate, whatever the subject does. Without it each connection sends the next after a response. */
  perSecond?: number;
}>;

/** Where requests go. They take the keys in turn. */
export type Target = Readonly<{
  hostname: string;
  port: number;
  /** Stands before the path of the format. */
  prefix: string;
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
    prefix: '',
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
  const arriving = `${rate.toLocaleString('en-US')} arriving per second`;
  const paced = {
    title: `stream, ${pacedEveryMs} ms apart`,
    unit: 'chunk',
    model: models.paced,
    connections: 64,
  } as const;
  return [
    { ...json, title: 'JSON', connections: 1 },
    { ...json, title: 'JSON', connections: 64 },
    { ...json, title: `JSON, ${arriving}`, connections: 64, perSecond: rate },
    { title: 'stream, unpaced', unit: 'chunk', model: models.fast, connections: 1 },
    { title: 'stream, unpaced', unit: 'chunk', model: models.fast, connections: 64 },
    paced,
    { ...paced, title: `Messages ${paced.title}`, format: 'messages' },
    { ...paced, title: `Responses ${paced.title}`, format: 'responses' },
    { unit: 'request', title: `JSON after ${lateByMs} ms`, model: models.lateJson, connections: 1 },
    { unit: 'chunk', title: `stream after ${lateByMs} ms`, model: models.lateStream, connections: 1 },
    {
      unit: 'request',
      title: `JSON after ${lateByMs} ms, ${arriving}`,
      model: models.lateJson,
      connections: lateConnections,
      perSecond: rate,
    },
  ];
}

/** Enough that none of them is awaited: at the usual rate about a hundred are in use. */
export const lateConnections = 256;

/** The gateway's name for a model that is served in this format. */
export function modelName(model: Model, format: Format): string {
  return format === 'chat' ? model : `${model}-${format}`;
}

const question = 'Explain in a few sentences why the sky is blue and the sunset is red.';

export function requestBody(model: Model, format: Format = 'chat', name: string | null = null): string {
  // A peer may know one model only, so the upstream reads from the text how to answer.
  const instructions = `You are a helpful assistant that answers briefly and to the point. (${model})`;
  const common = {
    model: name ?? modelName(model, format),
    temperature: 0.7,
    ...(isStreamed(model) ? { stream: true } : {}),
  };
  const user = { role: 'user', content: question };
  switch (format) {
    case 'chat':
      return JSON.stringify({
        ...common,
        messages: [{ role: 'system', content: instructions }, user],
        max_tokens: 500,
        ...(isStreamed(model) ? { stream_options: { include_usage: true } } : {}),
      });
    case 'messages':
      return JSON.stringify({ ...common, system: instructions, messages: [user], max_tokens: 500 });
    case 'responses':
      return JSON.stringify({ ...common, instructions, input: [user], max_output_tokens: 500, store: false });
  }
}

/** The whole request with each key, made once: a load generator that builds strings would measure itself. */
export function requestBytes(
  { hostname, port, prefix, keys, headers, model: name }: Target,
  model: Model,
  format: Format,
): Buffer[] {
  const body = requestBody(model, format, name);
  return keys.map((key) => {
    const head = [
      `POST ${prefix}${paths[format]} HTTP/1.1`,
      `Host: ${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`,
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      `Accept: ${isStreamed(model) ? 'text/event-stream' : 'application/json'}`,
      'User-Agent: tollgate-bench',
      ...(format === 'messages' ? ['anthropic-version: 2023-06-01'] : []),
      ...headers,
      `Content-Length: ${Buffer.byteLength(body)}`,
    ].join('\r\n');
    return Buffer.from(`${head}\r\n\r\n${body}`);
  });
}
