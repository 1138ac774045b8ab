/**
 * A provider that answers like the sandbox, but only when allowed to: whatever a test does before that is sure to happen
 * while a request is in progress, however slow the machine is.
 */
import { eventually } from './eventually.ts';

export type HeldProvider = Readonly<{
  /** Set to the address of the sandbox later; its own address is known first. */
  url: string;
  behind: (sandboxUrl: string) => string;
  /** How many requests are held at the moment. A stream is held after its first word. */
  count: () => number;
  /** Resolves as soon as this many are held. */
  holds: (count: number) => Promise<void>;
  /** Lets all of them go on. Later ones are held again. */
  release: () => void;
  /** Lets the requests that contain this text go on, as soon as one is held. */
  releaseOnly: (text: string) => Promise<void>;
  stop: () => Promise<void>;
}>;

/** Holds only requests that contain this text; without it, all. */
export function startHeldProvider(marker = ''): HeldProvider {
  let target = '';
  const held = new Set<Readonly<{ body: string; go: () => void }>>();
  const beingHeld = (body: string) => new Promise<void>((go) => held.add({ body, go }));
  const heldWith = (text: string) => [...held].filter(({ body }) => body.includes(text));

  function letGo(requests: ReturnType<typeof heldWith>): void {
    for (const request of requests) {
      held.delete(request);
      request.go();
    }
  }

  /** Many events may arrive in one piece: everything after the first word is held, even if it arrived together. */
  async function* heldAfterWord(
    request: string,
    answer: ReadableStream<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    let isHeldYet = false;
    for await (const piece of answer) {
      const text = Buffer.from(piece).toString('latin1');
      const word = isHeldYet ? -1 : text.search(/"content":"[^"]/);
      if (word < 0) {
        yield piece;
        continue;
      }
      const end = text.indexOf('\n\n', word) + 2;
      yield piece.subarray(0, end);
      await beingHeld(request);
      isHeldYet = true;
      yield piece.subarray(end);
    }
  }

  function streamOf(pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
    return new ReadableStream({
      async pull(controller) {
        const { value, done } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
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
      const isHeld = body.includes(marker);
      if (isHeld && !isStreamed) await beingHeld(body);
      const response = await fetch(`${target}${pathname}${search}`, { method, headers, body });
      const isHeldMidway = isHeld && isStreamed && response.body !== null;
      return new Response(isHeldMidway ? streamOf(heldAfterWord(body, response.body)) : response.body, {
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
    release: () => letGo([...held]),
    releaseOnly: async (text) => {
      letGo(
        await eventually(`a held request with ${text} in it`, () => {
          const found = heldWith(text);
          return found.length > 0 && found;
        }),
      );
    },
    stop: () => server.stop(true),
  };
}

/** The lines of the catalogue for a provider and a model `held`. */
export function heldModel(held: HeldProvider, sandboxUrl: string): { providers: string; models: string } {
  return {
    providers: `  held: { name: Held, adapter: openai, base_url: ${held.behind(sandboxUrl)}/v1, api_key_env: MAIN_KEY }`,
    models:
      '  held: { workload: chat, capabilities: [text_input, text_output, streaming], pricing: { billing_type: token, input: "1", output: "2" }, providers: [held] }',
  };
}
