import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ChatFixture, chatCatalog, openChatFixture } from '../support/chat-fixture.ts';

const formats = ['openai', 'anthropic', 'google'] as const;
const everything = '[text_input, image_input, text_output, streaming, function_calling, structured_output]';
const base = { openai: '/v1', anthropic: '/v1', google: '/v1beta' };

function catalog(url: string): string {
  const dialect = { openai: ', dialect: { strict_tools: supported }', anthropic: '', google: '' };
  return chatCatalog(url, {
    providers: formats
      .map(
        (format) =>
          `  in-${format}: { adapter: ${format}, base_url: "${url}${base[format]}", api_key_env: MAIN_KEY, circuit: { failures: 1000 }${dialect[format]} }`,
      )
      .join('\n'),
    models: formats
      .map(
        (format) =>
          `  speaks-${format}: { workload: chat, capabilities: ${everything}, max_output_tokens: 1000, context_window: 100000, pricing: { billing_type: token, input: "1", output: "2" }, providers: [in-${format}] }`,
      )
      .join('\n'),
  });
}

let fixture: ChatFixture;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
});

afterAll(() => fixture.close());

type Body = Record<string, unknown>;

function send(body: Body, more: Record<string, string> = {}): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more },
    body: JSON.stringify(body),
  });
}

describe('thin', () => {
  for (const format of formats)
    test(format, async () => {
      const response = await send({ model: `speaks-${format}`, input: 'Hello' });
      console.log(response.status, await response.text());
      const streamed = await send({ model: `speaks-${format}`, input: 'Hello', stream: true });
      console.log(streamed.status, await streamed.text());
      expect(1).toBe(1);
    });
});
