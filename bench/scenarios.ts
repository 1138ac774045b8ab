/** What is asked of every subject. The model's name tells the upstream how to answer. */

export const models = {
  /** One JSON answer. */
  json: 'bench-json',
  /** A stream that is written as fast as it goes: each event in its own write, one turn of the event loop apart. */
  fast: 'bench-fast',
  /** A stream with a pause after each event, as models write, so that no two of them travel in one read. */
  paced: 'bench-paced',
  /** A stream that drips, for a minute and a half if the bench does not let it end before. */
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
}>;

export const scenarios: readonly Scenario[] = [
  { title: 'JSON', unit: 'request', model: models.json, connections: 1 },
  { title: 'JSON', unit: 'request', model: models.json, connections: 64 },
  { title: 'stream, unpaced', unit: 'chunk', model: models.fast, connections: 1 },
  { title: 'stream, unpaced', unit: 'chunk', model: models.fast, connections: 64 },
  { title: `stream, ${pacedEveryMs} ms apart`, unit: 'chunk', model: models.paced, connections: 64 },
];

/** The whole request, made once: a load generator that builds strings would measure itself. */
export function requestBytes(port: number, key: string, model: Model): Buffer {
  const isStream = model !== models.json;
  const body = JSON.stringify({
    model,
    messages: [
      { role: 'system', content: 'You are a helpful assistant that answers briefly and to the point.' },
      { role: 'user', content: 'Explain in a few sentences why the sky is blue and the sunset is red.' },
    ],
    temperature: 0.7,
    max_tokens: 500,
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  });
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Accept: ${isStream ? 'text/event-stream' : 'application/json'}`,
    'User-Agent: tollgate-bench',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ].join('\r\n');
  return Buffer.from(`${head}\r\n\r\n${body}`);
}
