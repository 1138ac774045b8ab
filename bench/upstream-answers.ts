/** What the upstream answers, as bytes that are made once. */
import { contentChunks } from './scenarios.ts';

const usage = { prompt_tokens: 42, completion_tokens: contentChunks, total_tokens: 42 + contentChunks };
const common = {
  id: 'chatcmpl-bench',
  created: 1_790_000_000,
  model: 'bench',
  system_fingerprint: 'fp_bench',
};

const completion = JSON.stringify({
  ...common,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content:
          'Air scatters short waves of light more than long ones, so blue reaches the eye from all over the sky. ' +
          'At sunset the light has come a long way through the air, and mostly the red of it is left.',
      },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage,
});

export const jsonAnswer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(completion)}\r\n\r\n${completion}`,
);

const streamHead =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n';

function event(delta: object, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }];
  return frame(JSON.stringify({ ...common, object: 'chat.completion.chunk', choices }));
}

function frame(data: string): string {
  const text = `data: ${data}\n\n`;
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** One write each. No two chunks say the same, since a model that repeats itself is stopped by the gateway. */
export const streamWrites: readonly Buffer[] = [
  streamHead + event({ role: 'assistant', content: '' }),
  ...Array.from({ length: contentChunks }, (_, index) => event({ content: ` word${index}` })),
  event({}, 'stop'),
  frame(JSON.stringify({ ...common, object: 'chat.completion.chunk', choices: [], usage })),
  `${frame('[DONE]')}0\r\n\r\n`,
].map((text) => Buffer.from(text));

/** The finish, the usage, and the end marker. */
export const writesOfEnding = 3;
