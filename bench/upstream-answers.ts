/** What the upstream answers, as bytes that are made once. */
import { contentChunks, type Format } from './scenarios.ts';

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
const streamEnd = '0\r\n\r\n';

function frame(data: object | string, event: string | null = null): string {
  const json = typeof data === 'string' ? data : JSON.stringify(data);
  const text = `${event === null ? '' : `event: ${event}\n`}data: ${json}\n\n`;
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** No two chunks say the same, since a model that repeats itself is stopped by the gateway. */
const words = Array.from({ length: contentChunks }, (_, index) => ` word${index}`);

function chatEvents(): string[] {
  const chunk = (delta: object, finishReason: string | null = null) =>
    frame({
      ...common,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    });
  return [
    chunk({ role: 'assistant', content: '' }),
    ...words.map((content) => chunk({ content })),
    chunk({}, 'stop'),
    frame({ ...common, object: 'chat.completion.chunk', choices: [], usage }),
    frame('[DONE]'),
  ];
}

function messagesEvents(): string[] {
  const event = <Data extends Readonly<{ type: string }>>(data: Data) => frame(data, data.type);
  const message = {
    id: 'msg_bench',
    type: 'message',
    role: 'assistant',
    model: 'bench',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 42, output_tokens: 1 },
  };
  return [
    event({ type: 'message_start', message }),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...words.map((text) =>
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    ),
    event({ type: 'content_block_stop', index: 0 }),
    event({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { input_tokens: 42, output_tokens: contentChunks },
    }),
    event({ type: 'message_stop' }),
  ];
}

function responsesEvents(): string[] {
  let sequence = 0;
  const event = <Data extends Readonly<{ type: string }>>(data: Data) => {
    const text = frame({ ...data, sequence_number: sequence }, data.type);
    sequence += 1;
    return text;
  };
  const response = { id: 'resp_bench', object: 'response', created_at: 1_790_000_000, model: 'bench' };
  const begun = { ...response, status: 'in_progress', output: [], usage: null };
  const place = { item_id: 'msg_bench', output_index: 0, content_index: 0 };
  const item = { id: 'msg_bench', type: 'message', role: 'assistant' };
  const part = { type: 'output_text', text: words.join(''), annotations: [], logprobs: [] };
  const finished = { ...item, status: 'completed', content: [part] };
  return [
    event({ type: 'response.created', response: begun }),
    event({ type: 'response.in_progress', response: begun }),
    event({
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...item, status: 'in_progress', content: [] },
    }),
    event({ type: 'response.content_part.added', ...place, part: { ...part, text: '' } }),
    ...words.map((delta) => event({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
    event({ type: 'response.output_text.done', ...place, text: part.text, logprobs: [] }),
    event({ type: 'response.content_part.done', ...place, part }),
    event({ type: 'response.output_item.done', output_index: 0, item: finished }),
    event({
      type: 'response.completed',
      response: {
        ...response,
        status: 'completed',
        output: [finished],
        usage: {
          input_tokens: 42,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: contentChunks,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 42 + contentChunks,
        },
      },
    }),
  ];
}

/** One write for each event. */
function writesOf(events: readonly string[]): readonly Buffer[] {
  return events.map((text, index) => {
    const isLast = index === events.length - 1;
    return Buffer.from(`${index === 0 ? streamHead : ''}${text}${isLast ? streamEnd : ''}`);
  });
}

export const streamWrites: Readonly<Record<Format, readonly Buffer[]>> = {
  chat: writesOf(chatEvents()),
  messages: writesOf(messagesEvents()),
  responses: writesOf(responsesEvents()),
};

/** The finish, the usage, and the end marker of a chat stream. */
export const writesOfEnding = 3;
