/**
 * A provider in OpenAI's format that sends what a test tells it to, when it tells it to. A script is chosen by a text in
 * the request, so that tests do not get each other's.
 */
import { eventually } from './eventually.ts';

export type Exchange = Readonly<{
  /** The request's. */
  body: string;
  /** Opens the stream; without a status, 200. */
  open: (status?: number) => void;
  /** Sends an event, and opens the stream first if necessary. It is lost if the gateway has hung up. */
  send: (event: object | '[DONE]') => void;
  end: () => void;
  /** Answers with one JSON body instead. */
  reply: (body: object) => void;
  /** Whether the gateway has hung up. */
  isCancelled: () => boolean;
}>;

export type ScriptedProvider = Readonly<{
  url: string;
  /** The next request with this text in it. Each is returned once. */
  received: (text: string) => Promise<Exchange>;
  /** How many requests with this text in them there were. */
  count: (text: string) => number;
  stop: () => Promise<void>;
}>;

export function startScriptedProvider(): ScriptedProvider {
  const waiting: Exchange[] = [];
  const bodies: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const body = await request.text();
      const { promise, resolve } = Promise.withResolvers<Response>();
      bodies.push(body);
      waiting.push(exchangeOver(body, request.signal, resolve));
      return await promise;
    },
  });
  return {
    url: server.url.origin,
    received: async (text) =>
      await eventually(`a request with ${text} in it`, () => {
        const index = waiting.findIndex(({ body }) => body.includes(text));
        return index < 0 ? null : waiting.splice(index, 1)[0];
      }),
    count: (text) => bodies.filter((body) => body.includes(text)).length,
    stop: () => server.stop(true),
  };
}

function exchangeOver(body: string, signal: AbortSignal, respond: (response: Response) => void): Exchange {
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  let isGone = false;
  const open = (status = 200) => {
    const stream = new ReadableStream<Uint8Array>({
      start: (opened) => {
        controller = opened;
      },
      cancel: () => {
        isGone = true;
      },
    });
    const headers = { 'content-type': status === 200 ? 'text/event-stream' : 'application/json' };
    respond(new Response(status === 200 ? stream : '{}', { status, headers }));
  };
  return {
    body,
    open,
    send: (event) => {
      if (isGone) return;
      if (controller === null) open();
      const data = typeof event === 'string' ? event : JSON.stringify(event);
      controller?.enqueue(Buffer.from(`data: ${data}\n\n`));
    },
    end: () => {
      if (!isGone) controller?.close();
    },
    reply: (answer) => respond(Response.json(answer)),
    isCancelled: () => isGone || signal.aborted,
  };
}

/** An event with this delta. */
export const delta = (fields: object, finishReason: string | null = null) => ({
  choices: [{ index: 0, delta: fields, finish_reason: finishReason }],
});

export const usageEvent = (input: number, output: number) => ({
  choices: [],
  usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
});
