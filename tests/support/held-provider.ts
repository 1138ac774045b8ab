/**
 * A provider that answers as the sandbox does, but only when it is let: whatever a test does before that is sure to
 * happen while a request is under way, however slow the machine is.
 */
import { eventually } from './eventually.ts';

export type HeldProvider = Readonly<{
  /** To be given the address of the sandbox; its own address is known before. */
  url: string;
  behind: (sandboxUrl: string) => string;
  /** How many requests are held at the moment. A stream is held after its first word. */
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

  function heldAfterWord(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const pieces = body.getReader();
    let progress: 'silent' | 'begun' | 'released' = 'silent';
    return new ReadableStream({
      async pull(controller) {
        if (progress === 'begun') {
          await beingHeld();
          progress = 'released';
        }
        const { value } = await pieces.read();
        if (value === undefined) return controller.close();
        controller.enqueue(value);
        if (progress === 'silent' && /"content":"[^"]/.test(Buffer.from(value).toString()))
          progress = 'begun';
      },
    });
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
      const isHeld = isStreamed && response.body !== null;
      return new Response(isHeld ? heldAfterWord(response.body) : response.body, {
        status: response.status,
        headers: response.headers,
      });
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
