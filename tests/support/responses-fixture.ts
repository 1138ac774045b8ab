/** A gateway in front of a sandbox in each format, and a client of the Responses format that reads every event. */
import { expect } from 'bun:test';
import { type ChatFixture, chatCatalog, openChatFixture } from './chat-fixture.ts';

const everything = '[text_input, image_input, text_output, streaming, function_calling, structured_output]';
/** Those that a request has to be translated for. */
export const otherFormats = ['openai', 'anthropic', 'google'] as const;
const base = { openai: '/v1', anthropic: '/v1', google: '/v1beta' };

/** In units of 1e-12 USD per million tokens, with more digits than can be exact. */
export const price = { input: 2_000_000_100_000n, read: 50_000_300_000n, output: 10_000_000_300_000n };
const pricing =
  'pricing: { billing_type: token, input: "2.0000001", output: "10.0000003", cache_read: "0.0500003", cache_write: "2.5000007" }';

export function responsesCatalog(url: string): string {
  const dialect = { openai: ', dialect: { strict_tools: supported }', anthropic: '', google: '' };
  const providers = otherFormats.map(
    (format) =>
      `  in-${format}: { adapter: ${format}, base_url: "${url}${base[format]}", api_key_env: MAIN_KEY, circuit: { failures: 1000 }${dialect[format]} }`,
  );
  const models = otherFormats.map(
    (format) =>
      `  speaks-${format}: { workload: chat, capabilities: ${everything}, max_output_tokens: 1000, context_window: 100000, ${pricing}, providers: [in-${format}] }`,
  );
  return chatCatalog(url, { providers: providers.join('\n'), models: models.join('\n') });
}

export type Json = Record<string, unknown>;
export type Item = Json & { id: string; type: string };
export type ResponseBody = {
  id: string;
  object: string;
  status: string;
  error: { code: string; message: string; type: string; gateway_code: string } | null;
  incomplete_details: { reason: string } | null;
  model: string;
  output: Item[];
  usage: {
    input_tokens: number;
    input_tokens_details: { cached_tokens: number; cache_write_tokens: number };
    output_tokens: number;
    output_tokens_details: { reasoning_tokens: number };
    total_tokens: number;
    cost: string;
  } | null;
  store: boolean;
} & Json;
export type StreamEvent = Json & { type: string; sequence_number: number; response?: ResponseBody };

export type ResponsesClient = Readonly<{
  send: (body: Json | string, headers?: Record<string, string>) => Promise<Response>;
  /** A response that must succeed, streamed or not. Streams are checked event by event. */
  ask: (body: Json) => Promise<ResponseBody>;
}>;

export function clientOf(origin: string, key: string): ResponsesClient {
  const send: ResponsesClient['send'] = (body, headers = {}) =>
    fetch(`${origin}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  return {
    send,
    ask: async (body) => {
      const response = await send(body);
      const text = await response.text();
      expect([response.status, response.status === 200 ? '' : text]).toEqual([200, '']);
      if (body.stream !== true) return JSON.parse(text) as ResponseBody;
      return assembled(readEvents(text));
    },
  };
}

/** The events of a finished stream. Each is named as its data says, and they are numbered without a gap. */
export function readEvents(text: string): StreamEvent[] {
  const blocks = text.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'));
  expect(text).toEndWith('\n\n');
  return blocks.map((block, index) => {
    const [, name = '', data = ''] = /^event: ([^\n]+)\ndata: ([^\n]+)$/.exec(block) ?? [];
    const event = JSON.parse(data) as StreamEvent;
    expect([name, event.sequence_number]).toEqual([event.type, index]);
    return event;
  });
}

const deltas: Readonly<Record<string, string>> = {
  'response.output_text': 'text',
  'response.function_call_arguments': 'arguments',
  'response.custom_tool_call_input': 'input',
  'response.reasoning_summary_text': 'text',
};

/**
 * The last response of a stream, after a check that the events before it say the same: every item is opened and closed once,
 * in its place and with its ID, and its pieces are what it has in the end.
 */
export function assembled(events: readonly StreamEvent[]): ResponseBody {
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
  const last = events.at(-1)?.response as ResponseBody;
  for (const { response } of events.slice(0, 2)) {
    expect(response).toMatchObject({ id: last.id, status: 'in_progress', output: [], usage: null });
  }
  const pieces = new Map<string, string>();
  const opened: (string | undefined)[] = [];
  const closed = new Map<number, Item>();
  for (const event of events.slice(2, -1)) {
    const [, kind = '', step = ''] = /^(.+)\.(\w+)$/.exec(event.type) ?? [];
    const place = event.output_index as number;
    const item = event.item as Item | undefined;
    if (event.type === 'response.output_item.added') {
      expect(opened.push(item?.id) - 1).toBe(place);
      expect(item?.status ?? 'in_progress').toBe('in_progress');
    } else expect(closed.has(place)).toBe(false);
    if (event.item_id !== undefined) expect<unknown>(event.item_id).toBe(opened[place]);
    const name = deltas[kind];
    const piece = `${place} ${kind}`;
    if (name !== undefined && step === 'delta') {
      expect(event.delta).not.toBe('');
      pieces.set(piece, (pieces.get(piece) ?? '') + String(event.delta));
    }
    if (name !== undefined && step === 'done') expect(event[name]).toBe(pieces.get(piece) ?? '');
    if (event.type === 'response.output_item.done') closed.set(place, item as Item);
  }
  expect(opened.map((_, place) => closed.get(place) as Item)).toEqual(last.output);
  return last;
}

export async function openResponses(): Promise<ChatFixture> {
  return await openChatFixture(responsesCatalog);
}

export const textOf = ({ output }: ResponseBody): string =>
  output
    .flatMap(({ content }) => (content ?? []) as Json[])
    .map(({ text }) => text)
    .join('');

export const callsOf = ({ output }: ResponseBody): Item[] => output.filter(({ type }) => /_call$/.test(type));
