/** A provider of the format of OpenAI whose streams begin at once and end when they are told to. */
export type GatedProvider = Readonly<{
  url: string;
  /** Ends the stream that was asked for with these words, now or as soon as it has begun. */
  release: (words: string) => void;
  stop: () => Promise<void>;
}>;

type Asked = Readonly<{ stream?: boolean; messages: readonly [{ content: string }] }>;

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const event = (data: unknown) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const chunk = (delta: object, finishReason: string | null) => ({
  choices: [{ index: 0, delta, finish_reason: finishReason }],
});

/** What is not streamed is answered at once. */
export function startGatedProvider(): GatedProvider {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gateOf = (words: string) => {
    const gate = gates.get(words) ?? Promise.withResolvers<void>();
    gates.set(words, gate);
    return gate;
  };

  async function* streamed(words: string): AsyncGenerator<string> {
    yield event(chunk({ role: 'assistant', content: 'Wait' }, null));
    await gateOf(words).promise;
    yield event(chunk({}, 'stop')) + event({ choices: [], usage }) + event('[DONE]');
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    development: false,
    idleTimeout: 0,
    async fetch(request) {
      const { stream = false, messages } = (await request.json()) as Asked;
      const message = { role: 'assistant', content: 'At once' };
      if (!stream) return Response.json({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
      return new Response(streamed(messages[0].content), {
        headers: { 'content-type': 'text/event-stream' },
      });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    release: (words) => gateOf(words).resolve(),
    stop: () => server.stop(true),
  };
}
