/** Clients that send one request after the other, streamed and non-streamed, and retry nothing. */

/** What the sandbox is asked to report. Earlier versions charge cached input like any other. */
const usage = '[[usage 10 20]] [[cached 4]]';
export const costOfRequest = 0.000035;
export const costOfCachedRequest = 0.0000332;

export type Traffic = Readonly<{
  /** How many requests ended as they should. */
  completedCount: () => number;
  /** How many failed, by kind: a status, an error in a stream, a broken connection. */
  failures: () => Readonly<Record<string, number>>;
  /** How many are open now. */
  openCount: () => number;
  /** How long the slowest of those that are not streamed took. */
  slowestMs: () => number;
  /** Lets what is open end. */
  stop: () => Promise<void>;
}>;

/** Each request goes to one of the gateways that `origins` names at that moment; while it names none, clients wait. */
export function startTraffic(key: string, clientCount: number, origins: () => readonly string[]): Traffic {
  return startClients(clientCount, origins, (origin, place) => ({
    isMeasured: place % 2 !== 0,
    answer: ask(origin, key, place % 2 === 0),
  }));
}

/** Reads the newest Generations, one of them and the usage, again and again. */
export function startReading(key: string, clientCount: number, origins: () => readonly string[]): Traffic {
  let place = 0;
  const next = (origin: string) => {
    const targets = origins();
    place += 1;
    return targets[place % targets.length] ?? origin;
  };
  return startClients(clientCount, origins, (origin) => ({
    isMeasured: true,
    answer: read(() => next(origin), key),
  }));
}

type Asked = Readonly<{ isMeasured: boolean; answer: Promise<string | null> }>;

function startClients(
  clientCount: number,
  origins: () => readonly string[],
  send: (origin: string, place: number) => Asked,
): Traffic {
  const failures = new Map<string, number>();
  let completedCount = 0;
  let openCount = 0;
  let slowestMs = 0;
  let isOver = false;

  async function run(place: number): Promise<void> {
    for (let round = place; !isOver; round += 1) {
      const targets = origins();
      const origin = targets[round % targets.length];
      if (origin === undefined) {
        await Bun.sleep(50);
        continue;
      }
      openCount += 1;
      const startedAt = performance.now();
      const { isMeasured, answer } = send(origin, place);
      const failure = await answer.catch(() => 'connection');
      openCount -= 1;
      if (isMeasured) slowestMs = Math.max(slowestMs, performance.now() - startedAt);
      if (failure === null) completedCount += 1;
      else failures.set(failure, (failures.get(failure) ?? 0) + 1);
    }
  }

  const clients = Array.from({ length: clientCount }, (_, place) => run(place));
  return {
    completedCount: () => completedCount,
    failures: () => Object.fromEntries(failures),
    openCount: () => openCount,
    slowestMs: () => slowestMs,
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

/** Null when all went well. A stream takes about two seconds. */
async function ask(origin: string, key: string, isStreamed: boolean): Promise<string | null> {
  const directives = isStreamed ? `${usage} [[long 20]] [[chunk-delay 100]]` : `${usage} [[delay 50]]`;
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sandbox-chat',
      max_tokens: 100,
      stream: isStreamed,
      messages: [{ role: 'user', content: `${directives} Hello` }],
    }),
  });
  const text = await response.text();
  if (response.status !== 200) return `${response.status}`;
  if (!isStreamed) return text.includes('"completion_tokens":20') ? null : 'other response';
  if (text.includes('"error"')) return 'error in a stream';
  return text.trimEnd().endsWith('[DONE]') ? null : 'cut stream';
}

/** Asks for the origin of each of its requests: a gateway may leave between two of them. */
async function read(origin: () => string, key: string): Promise<string | null> {
  const headers = { authorization: `Bearer ${key}` };
  const get = async (path: string) => {
    const response = await fetch(`${origin()}${path}`, { headers });
    return { status: response.status, body: (await response.json()) as { data?: { id: string }[] } };
  };
  const list = await get('/v1/generations?limit=20');
  const id = list.body.data?.[0]?.id;
  const others = [
    list,
    await get('/v1/usage'),
    ...(id === undefined ? [] : [await get(`/v1/generations/${id}`)]),
  ];
  const failed = others.find(({ status }) => status !== 200);
  return failed === undefined ? null : `${failed.status}`;
}
