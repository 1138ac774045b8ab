/** The clients that customers use, unmodified: the OpenAI SDK, the AI SDK and curl. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { dynamicTool, generateText, jsonSchema, Output, streamText } from 'ai';
import OpenAI from 'openai';
import {
  type ChatFixture,
  chatCatalog,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { heldModel, startHeldProvider } from '../support/held-provider.ts';

const held = startHeldProvider();

let fixture: ChatFixture;
let key: string;
let openai: OpenAI;

beforeAll(async () => {
  fixture = await openChatFixture((url) => chatCatalog(url, heldModel(held, url)));
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
  openai = new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: key, maxRetries: 0 });
});

afterAll(async () => {
  await fixture.close();
  await held.stop();
});

const user = (content: string) => ({ role: 'user' as const, content });
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = ['weather', 'traffic'].map((name) => ({
  type: 'function' as const,
  function: { name, parameters },
}));
const image = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };

describe('the OpenAI SDK', () => {
  test('chats, and its request ID finds the Generation', async () => {
    const completion = await openai.chat.completions.create({ model: 'full', messages: [user('Hello')] });
    expect(completion.choices[0]?.message.content).toBe('You said: Hello');
    expect(completion._request_id).toBe(completion.id);
    expect(await finishedGeneration(fixture.gateway.origin, key, completion.id)).toMatchObject({
      status: 'completed',
    });
  });

  test('lists the models, and pages over Generations by hand', async () => {
    const models: string[] = [];
    for await (const model of openai.models.list()) models.push(model.id);
    expect(models).toContain('full');
    const { key: own } = await fixture.customer('10');
    const client = new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: own, maxRetries: 0 });
    const made: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const { id } = await client.chat.completions.create({
        model: 'full',
        messages: [user(`page ${count}`)],
      });
      made.unshift(id);
    }
    type Page = { data: { id: string }[]; has_more: boolean; next_cursor: string | null };
    const walked: string[] = [];
    for (let cursor: string | null = null; ; ) {
      const page: Page = await client.get('/generations', {
        query: { limit: 2, status: 'completed', ...(cursor === null ? {} : { cursor }) },
      });
      walked.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
      if (!page.has_more) break;
    }
    expect(walked).toEqual(made);
  });

  test('streams, with usage', async () => {
    const stream = await openai.chat.completions.create({
      model: 'full',
      messages: [user('Hello')],
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let total = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      total = chunk.usage?.total_tokens ?? total;
    }
    expect([text, total]).toEqual(['You said: Hello', 9]);
  });

  test('calls two tools at once, in both modes, and returns the results', async () => {
    const messages = [user('[[tools 2]] go')];
    const whole = await openai.chat.completions.create({ model: 'full', messages, tools });
    const streamed = await openai.chat.completions
      .stream({ model: 'full', messages, tools })
      .finalChatCompletion();
    for (const { choices } of [whole, streamed]) {
      const calls = choices[0]?.message.tool_calls ?? [];
      expect(calls.map((call) => (call.type === 'function' ? call.function.name : ''))).toEqual([
        'weather',
        'traffic',
      ]);
      expect(choices[0]?.finish_reason).toBe('tool_calls');
      const answer = await openai.chat.completions.create({
        model: 'full',
        tools,
        messages: [
          user('go'),
          { role: 'assistant', content: null, tool_calls: calls },
          ...calls.map((call) => ({ role: 'tool' as const, tool_call_id: call.id, content: 'sunny' })),
        ],
      });
      expect(answer.choices[0]?.message.content).toContain('sunny');
    }
  });

  test('sends images and gets JSON by schema', async () => {
    const seen = await openai.chat.completions.create({
      model: 'full',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Look' }, image] }],
    });
    expect(seen.choices[0]?.message.content).toContain('1 image');
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' }, ok: { type: 'boolean' } },
      required: ['city', 'ok'],
      additionalProperties: false,
    };
    const structured = await openai.chat.completions.create({
      model: 'full',
      messages: [user('Where?')],
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } },
    });
    expect(Object.keys(JSON.parse(structured.choices[0]?.message.content ?? '{}'))).toEqual(['city', 'ok']);
  });

  test('aborts a stream, which is settled as cancelled', async () => {
    const stream = await openai.chat.completions.create({
      model: 'full',
      messages: [user('[[long 20]] [[chunk-delay 60]]')],
      stream: true,
    });
    let id = '';
    for await (const chunk of stream) {
      id = chunk.id;
      stream.controller.abort();
    }
    expect(await finishedGeneration(fixture.gateway.origin, key, id)).toMatchObject({
      status: 'cancelled',
      usage: { output_tokens: 20 },
    });
  });

  test('shows the code, param and request ID of an error', async () => {
    const refused = await openai.chat.completions
      .create({ model: 'full', messages: [user('x')], temperature: 2 })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.BadRequestError);
    expect(refused).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      param: 'temperature',
      type: 'invalid_request_error',
    });
    expect((refused as InstanceType<typeof OpenAI.APIError>).requestID).toMatch(/^req_[0-9a-f]{32}$/);
    const stranger = new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: 'wrong', maxRetries: 0 });
    expect(await stranger.models.list().catch((error: unknown) => error)).toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
  });

  test('throws for an error inside a stream', async () => {
    const read = async () => {
      const stream = await openai.chat.completions.create({
        model: 'full',
        messages: [user('[[cut 2]] a b c d')],
        stream: true,
      });
      for await (const _chunk of stream);
    };
    expect(await read().catch((error: unknown) => error)).toMatchObject({
      code: 'provider_stream_error',
      type: 'provider_error',
    });
  });

  test('retries what may be retried and not what must not', async () => {
    const patient = new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: key, maxRetries: 2 });
    const count = (mark: string) =>
      fixture.sandbox.entries.filter((entry) => JSON.stringify(entry.body).includes(mark)).length;
    const recovered = await patient.chat.completions.create({
      model: 'full',
      messages: [user('[[flaky 1 503 sdk-retry]]')],
    });
    expect(recovered.choices).toHaveLength(1);
    expect(count('sdk-retry')).toBe(2);
    await patient.chat.completions
      .create({ model: 'full', messages: [user('[[status 400]] sdk-no-retry')] })
      .catch(() => undefined);
    expect(count('sdk-no-retry')).toBe(1);
  });
});

describe('the AI SDK', () => {
  const structured = () =>
    createOpenAICompatible({
      name: 'tollgate',
      baseURL: `${fixture.gateway.origin}/v1`,
      apiKey: key,
      supportsStructuredOutputs: true,
    })('full');
  const model = () =>
    createOpenAICompatible({
      name: 'tollgate',
      baseURL: `${fixture.gateway.origin}/v1`,
      apiKey: key,
      includeUsage: true,
    })('full');

  test('generates and streams text', async () => {
    const { text, usage, finishReason } = await generateText({ model: model(), prompt: 'Hello' });
    expect([text, usage.totalTokens, finishReason]).toEqual(['You said: Hello', 9, 'stop']);
    const streamed = streamText({ model: model(), prompt: 'Hello' });
    expect(await Array.fromAsync(streamed.textStream)).toContain('You');
    expect((await streamed.usage).totalTokens).toBe(9);
  });

  test('calls tools in both modes', async () => {
    const described = dynamicTool({
      inputSchema: jsonSchema(parameters as never),
      execute: () => Promise.resolve('sunny'),
    });
    const made = { weather: described, traffic: described };
    const whole = await generateText({ model: model(), prompt: '[[tools 2]] go', tools: made });
    expect(whole.toolCalls.map((call) => call.toolName)).toEqual(['weather', 'traffic']);
    const streamed = streamText({ model: model(), prompt: '[[tools 2]] go', tools: made });
    expect((await streamed.toolCalls).map((call) => call.toolName)).toEqual(['weather', 'traffic']);
  });

  test('sends an image and gets JSON by schema', async () => {
    const seen = await generateText({
      model: model(),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'file', data: Buffer.from('iVBORw0KGgo=', 'base64'), mediaType: 'image/png' },
          ],
        },
      ],
    });
    expect(seen.text).toContain('1 image');
    const { output } = await generateText({
      model: structured(),
      prompt: 'Where?',
      output: Output.object({ schema: jsonSchema<{ city: string }>(parameters as never) }),
    });
    expect(Object.keys(output)).toEqual(['city']);
  });

  test('aborts, and reads errors', async () => {
    const controller = new AbortController();
    const streamed = streamText({
      model: model(),
      prompt: '[[long 50]] [[chunk-delay 20]]',
      abortSignal: controller.signal,
    });
    for await (const _text of streamed.textStream) controller.abort();
    const failed = await generateText({ model: model(), prompt: '[[status 400]]', maxRetries: 0 }).catch(
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ statusCode: 502 });
    expect(String((failed as { responseBody?: string }).responseBody)).toContain('provider_bad_request');
  });
});

describe('curl', () => {
  async function curl(body: object, ...options: string[]): Promise<string> {
    const command = ['curl', '-sS', '-N', ...options, `${fixture.gateway.origin}/v1/chat/completions`];
    const headers = ['-H', `Authorization: Bearer ${key}`, '-H', 'Content-Type: application/json'];
    const child = Bun.spawn([...command, ...headers, '-d', JSON.stringify(body)], { stdout: 'pipe' });
    return await child.stdout.text();
  }

  test('chats, streams and reads errors', async () => {
    expect(await curl({ model: 'full', messages: [user('Hello')] })).toContain('"content":"You said: Hello"');
    const stream = await curl({ model: 'full', messages: [user('Hello')], stream: true });
    expect(stream).toStartWith('data: {"id":"req_');
    expect(stream).toEndWith('data: [DONE]\n\n');
    expect(await curl({ model: 'full', messages: [] }, '-i')).toMatch(
      /^HTTP\/1.1 400 [\s\S]*x-service-request-id: req_[\s\S]*"param":"messages"/i,
    );
  });

  test('calls tools in both modes, sends an image and gets JSON by schema', async () => {
    const asked = { model: 'full', messages: [user('[[tools 2]] go')], tools };
    expect(await curl(asked)).toMatch(/"finish_reason":"tool_calls".*"name":"weather".*"name":"traffic"/);
    expect(await curl({ ...asked, stream: true })).toMatch(
      /"name":"weather"[\s\S]*"finish_reason":"tool_calls"/,
    );
    const looking = {
      model: 'full',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Look' }, image] }],
    };
    expect(await curl(looking)).toContain('1 image');
    const schema = { name: 'place', schema: parameters };
    const where = {
      model: 'full',
      messages: [user('Where?')],
      response_format: { type: 'json_schema', json_schema: schema },
    };
    expect(await curl(where)).toContain('{\\"city\\":');
  });

  test('cut off by a time limit, is settled as cancelled', async () => {
    const { key: own, account } = await fixture.customer('1');
    const child = Bun.spawn(
      [
        'curl',
        '-sS',
        '-N',
        '-m',
        '2',
        `${fixture.gateway.origin}/v1/chat/completions`,
        '-H',
        `Authorization: Bearer ${own}`,
        '-H',
        'Content-Type: application/json',
        '-d',
        JSON.stringify({ model: 'held', stream: true, messages: [user('[[long 30]]')] }),
      ],
      { stdout: 'ignore', stderr: 'ignore' },
    );
    await held.holds(1);
    expect(await child.exited).toBe(28);
    held.release();
    const row = await eventually('the end of the request', async () => {
      const [ended] = await fixture.database
        .sql`select status, output_tokens from generations where account_id = ${account}`;
      return ended;
    });
    expect(row).toEqual({ status: 'cancelled', output_tokens: 30n });
  });
});
