/** GET /v1/models/{model} */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { type ChatFixture, chatCatalog, type ErrorBody, openChatFixture } from '../support/chat-fixture.ts';

const model = (id: string) =>
  `  ${id}: { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [main] }`;
const ids = ['vendor/model', 'vendor/deep/model:free', 'odd@1+2', '__proto__'];

let fixture: ChatFixture;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture((url) =>
    chatCatalog(url, { providers: '', models: ids.map(model).join('\n') }),
  );
  ({ key } = await fixture.customer('1'));
});

afterAll(() => fixture.close());

const ask = (id: string, apiKey = key) =>
  fetch(`${fixture.gateway.origin}/v1/models/${id}`, { headers: { authorization: `Bearer ${apiKey}` } });

async function errorOf(response: Response) {
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code];
}

describe('200', () => {
  test('the model as the list has it, through the SDK', async () => {
    const client = new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: key, maxRetries: 0 });
    const listed = await Array.fromAsync(client.models.list());
    expect(listed.map(({ id }) => id)).toContain('vendor/model');
    for (const one of listed) expect<object>(await client.models.retrieve(one.id)).toMatchObject(one);
  });

  test.each(ids)('%s, with its slashes encoded or plain', async (id) => {
    for (const path of [id, encodeURIComponent(id)]) {
      const response = await ask(path);
      expect([path, response.status]).toEqual([path, 200]);
      expect(((await response.json()) as { id: string }).id).toBe(id);
    }
  });
});

describe('404', () => {
  test.each([
    'nobody',
    'disabled',
    'unpriced',
    'absent',
    'unmapped',
    'vendor',
    'vendor/',
    '%',
    '%zz',
    'full/',
  ])('what the list does not have: %s', async (id) => {
    expect(await errorOf(await ask(id))).toEqual([404, 'model_not_found']);
  });

  test('a model that the key may not call is not found', async () => {
    const { key: limited } = await fixture.customer('1', '--allow', 'full');
    expect((await ask('full', limited)).status).toBe(200);
    expect(await errorOf(await ask('plain', limited))).toEqual([404, 'model_not_found']);
  });
});

test('a query and a missing key are refused as everywhere', async () => {
  expect(await errorOf(await ask('full?expand=1'))).toEqual([400, 'unsupported_parameter']);
  expect(await errorOf(await ask('full', 'wrong'))).toEqual([401, 'invalid_api_key']);
});
