/** What tests of POST /v1/messages share: a catalogue with providers of every format, a client, and readers of streams. */
import type { ChatFixture } from './chat-fixture.ts';

const everything = '[text_input, image_input, text_output, streaming, function_calling, structured_output]';
const price =
  'pricing: { billing_type: token, input: "3", output: "15", cache_read: "0.3", cache_write: "3.75", cache_write_long: "6" }';
const patient = 'circuit: { failures: 1000 }';
const able = `capabilities: ${everything}, ${price}`;

export const messagesCatalog = (url: string, more = { providers: '', models: '' }) => `
price_version: "2026-11"
providers:
  openai:    { adapter: openai, base_url: "${url}/v1", api_key_env: MAIN_KEY, ${patient}, dialect: { strict_tools: supported } }
  anthropic: { adapter: anthropic, base_url: "${url}/v1", api_key_env: MAIN_KEY, ${patient} }
  google:    { adapter: google, base_url: "${url}/v1beta", api_key_env: MAIN_KEY, ${patient} }
  gone:      { adapter: anthropic, base_url: "http://127.0.0.1:9/v1", api_key_env: MAIN_KEY, ${patient} }
${more.providers}
models:
${more.models}
  openai:    { workload: chat, max_output_tokens: 8000, context_window: 200000, ${able}, providers: [openai] }
  anthropic: { workload: chat, max_output_tokens: 8000, context_window: 200000, ${able}, providers: [anthropic] }
  google:    { workload: chat, max_output_tokens: 8000, context_window: 200000, ${able}, providers: [google] }
  unbounded: { workload: chat, ${able}, providers: [anthropic] }
  crossing:  { workload: chat, max_output_tokens: 8000, ${able}, providers: [gone, openai] }
  picture:   { workload: image, sizes: ["1024x1024"], pricing: { billing_type: image, unit_price: "0.04" }, providers: [openai] }
`;

export type MessagesClient = Readonly<{
  key: string;
  /** With a `max_tokens` of 128,000, as Claude Code sends it. */
  send: (body: object, headers?: Readonly<Record<string, string>>, path?: string) => Promise<Response>;
}>;

export function messagesClient({ gateway }: Pick<ChatFixture, 'gateway'>, key: string): MessagesClient {
  return {
    key,
    send: (body, headers = {}, path = '/v1/messages?beta=true') =>
      fetch(`${gateway.origin}${path}`, {
        method: 'POST',
        headers: {
          'x-api-key': key,
          'anthropic-version': '2023-06-01',
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify(path.includes('count_tokens') ? body : { max_tokens: 128_000, ...body }),
      }),
  };
}

export const user = (content: unknown) => ({ role: 'user', content });
export const assistant = (content: unknown) => ({ role: 'assistant', content });

export type Block = Record<string, unknown> & { type: string };
export type MessageBody = {
  id: string;
  model: string;
  content: Block[];
  stop_reason: string | null;
  usage: Record<string, unknown>;
};
export type MessagesErrorBody = {
  type: 'error';
  error: { type: string; message: string; code: string; param: string | null };
  request_id: string;
};
export type MessageEvent = Record<string, unknown> & { type: string };

/** The data of each event of a finished stream, whose name must be its type. */
export function eventsOf(text: string): MessageEvent[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => {
      const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      const parsed = JSON.parse(data) as MessageEvent;
      if (parsed.type !== name) throw new Error(`The event ${name} has the type ${parsed.type}.`);
      return parsed;
    });
}

/** The content that a client puts together from the events. Blocks have to follow one another. */
export function blocksOf(events: readonly MessageEvent[]): Block[] {
  const blocks: Block[] = [];
  let open: { block: Block; json: string } | null = null;
  for (const event of events) {
    if (event.type === 'content_block_start') {
      if (open !== null || event.index !== blocks.length) throw new Error('The blocks are not in order.');
      open = { block: { ...(event.content_block as Block) }, json: '' };
    }
    if (event.type === 'content_block_delta') {
      if (open === null || event.index !== blocks.length) throw new Error('A delta belongs to no block.');
      const { type, ...delta } = event.delta as Record<string, string>;
      for (const [field, piece] of Object.entries(delta))
        if (type === 'input_json_delta') open.json += piece;
        else open.block[field] = `${String(open.block[field] ?? '')}${piece}`;
    }
    if (event.type === 'content_block_stop') {
      if (open === null || event.index !== blocks.length) throw new Error('No block is open.');
      if (open.json !== '') open.block.input = JSON.parse(open.json) as unknown;
      blocks.push(open.block);
      open = null;
    }
  }
  return blocks;
}
