/** POST /v1/messages through a real gateway, in front of providers of every format. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ChatFixture, finishedGeneration, openChatFixture } from '../support/chat-fixture.ts';
import {
  blocksOf,
  eventsOf,
  type MessageBody,
  type MessagesClient,
  messagesCatalog,
  messagesClient,
  user,
} from '../support/messages-fixture.ts';

let fixture: ChatFixture;
let client: MessagesClient;
const formats = ['openai', 'anthropic', 'google'] as const;

beforeAll(async () => {
  fixture = await openChatFixture(messagesCatalog);
  client = messagesClient(fixture, (await fixture.customer('100')).key);
});

afterAll(() => fixture.close());

describe.each(formats)('a provider in the format of %s', (model) => {
  test('answers with a message that has its usage and cost', async () => {
    const response = await client.send({ model, messages: [user('[[say one two]] [[usage 20 5]]')] });
    const body = (await response.json()) as MessageBody;
    const id = response.headers.get('request-id') ?? '';
    expect(response.status).toBe(200);
    expect(body).toMatchObject({
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: 'one two' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 20, output_tokens: 5, cost: '0.000135000000' },
    });
    const { cost, status } = await finishedGeneration(fixture.gateway.origin, client.key, id);
    expect([status, cost?.total]).toEqual(['completed', '0.000135000000']);
  });

  test('streams the events of the format, the last ones with the charge', async () => {
    const response = await client.send({
      model,
      stream: true,
      messages: [user('[[say one two]] [[usage 20 5]]')],
    });
    const events = eventsOf(await response.text());
    expect(events.map(({ type }) => type).filter((type) => type !== 'ping')).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(events[0]).toMatchObject({
      message: { id: response.headers.get('request-id'), model, content: [], stop_reason: null },
    });
    expect(blocksOf(events)).toEqual([{ type: 'text', text: 'one two' }]);
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: 'end_turn' },
      usage: { input_tokens: 20, output_tokens: 5, cost: '0.000135000000' },
    });
  });
});
