/**
 * A provider that answers with the very bytes a test tells it to, in any format. A script is chosen by a text in the
 * request, so that tests do not get each other's.
 */
export type RawAnswer = Readonly<{
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** The body, or its pieces as they are sent. */
  body: string | readonly string[] | ReadableStream<Uint8Array>;
}>;

export type RawProvider = Readonly<{
  url: string;
  /** Answers the requests with this text in them. */
  script: (text: string, answer: RawAnswer) => void;
  /** The bodies of the requests so far, oldest first. */
  bodies: readonly string[];
  stop: () => Promise<void>;
}>;

export function startRawProvider(): RawProvider {
  const scripts = new Map<string, RawAnswer>();
  const bodies: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const text = await request.text();
      bodies.push(text);
      const [, answer] = [...scripts].find(([name]) => text.includes(name)) ?? [];
      if (answer === undefined) return new Response('{}', { status: 500 });
      const { status = 200, headers = {}, body } = answer;
      return new Response(
        typeof body === 'string' || body instanceof ReadableStream ? body : streamOf(body),
        {
          status,
          headers,
        },
      );
    },
  });
  return {
    url: server.url.origin,
    script: (text, answer) => scripts.set(text, answer),
    bodies,
    stop: () => server.stop(true),
  };
}

function streamOf(pieces: readonly string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async start(controller) {
      for (const piece of pieces) {
        controller.enqueue(Buffer.from(piece));
        await Bun.sleep(1);
      }
      controller.close();
    },
  });
}

export const eventStream = { 'content-type': 'text/event-stream' } as const;
