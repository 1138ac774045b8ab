/**
 * A provider that answers as the sandbox does, but only when it is let: whatever a test does before that is sure to
 * happen while a request is under way, however slow the machine is.
 */
import { eventually } from './eventually.ts';

export type HeldProvider = Readonly<{
  /** To be given the address of the sandbox; its own address is known before. */
  url: string;
  behind: (sandboxUrl: string) => string;
  /** How many requests are held at the moment. A stream is held after its first piece. */
  count: () => number;
  /** Resolves as soon as this many are held. */
  holds: (count: number) => Promise<void>;
  /** Lets all of them go on. Those that come later are held again. */
  release: () => void;
  stop: () => Promise<void>;
}>;

export function startHeldProvider(): HeldProvider {
  let target = '';
  const held = new Set<() => void>();
  const beingHeld = () => new Promise<void>((resolve) => held.add(resolve));

  async function* piecesOf(body: ReadableStream<Uint8Array>) {
    let isFirst = true;
    for await (const piece of body) {
      yield piece;
      if (isFirst) await beingHeld();
      isFirst = false;
    }
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const { headers, method } = request;
      const body = await request.text();
      const isStreamed = /"stream":\s*true/.test(body);
      if (!isStreamed) await beingHeld();
      const response = await fetch(`${target}${pathname}${search}`, { method, headers, body });
      const pieces = isStreamed && response.body !== null ? piecesOf(response.body) : response.body;
      return new Response(pieces, { status: response.status, headers: response.headers });
    },
  });
  return {
    url: server.url.origin,
    behind: (sandboxUrl) => {
      target = sandboxUrl;
      return server.url.origin;
    },
    count: () => held.size,
    holds: async (count) => {
      await eventually(`${count} requests that are held`, () => held.size === count);
    },
    release: () => {
      for (const go of held) go();
      held.clear();
    },
    stop: () => server.stop(true),
  };
}
