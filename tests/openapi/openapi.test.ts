/** The published document: that it is valid, complete, and describes what the gateway does. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv from 'ajv/dist/2020';
import fc from 'fast-check';
import OpenAI from 'openai';
import { z } from 'zod';
import packageFile from '../../package.json';
import { parseChat } from '../../src/chat/completions/parse.ts';
import { chatRequestSchema } from '../../src/chat/completions/schema.ts';
import { parseCount, parseMessages } from '../../src/chat/messages/parse.ts';
import { responses } from '../../src/chat/responses/dialect.ts';
import { Signatures } from '../../src/chat/signatures.ts';
import { ApiError, apiErrorCodes, errorTable } from '../../src/errors.ts';
import { parseImages } from '../../src/images/parse.ts';
import { imageRequestSchema } from '../../src/images/schema.ts';
import { createLog } from '../../src/lib/log.ts';
import { createDocument, endpoints } from '../../src/openapi/document.ts';
import { referenceTo } from '../../src/openapi/json-schema.ts';
import { curl } from '../../src/openapi/page/curl.ts';
import { renderPage } from '../../src/openapi/page/page.ts';
import { nodeSample, pythonSample } from '../../src/openapi/page/sdk-samples.ts';
import { requestNotes } from '../../src/openapi/request-notes.ts';
import { requestComponents } from '../../src/openapi/requests.ts';
import { createRoutes, type Services } from '../../src/routes.ts';
import {
  asking,
  basic,
  call,
  image,
  jsonSchema,
  look,
  parts,
  plus,
  talk,
  toolFunction,
  tools,
  url,
  user,
  without,
} from '../support/chat-bodies.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { type Gateway, shippedCatalog, startGateway, temporaryFolder } from '../support/gateway.ts';

// The text that clients get, so that nothing counts that JSON cannot carry.
const document = JSON.parse(JSON.stringify(createDocument())) as ReturnType<typeof createDocument>;

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(document, 'document');

/** Whether a component of the document takes a value. */
function takes(component: string, value: unknown): boolean {
  const check = ajv.getSchema(`document#/components/schemas/${component}`);
  if (!check) throw new Error(`There is no component ${component}.`);
  return check(value) as boolean;
}

describe('the document', () => {
  test('is OpenAPI 3.1, of this version, for this gateway', async () => {
    expect(await new Validator().validate({ ...structuredClone(document) })).toEqual({ valid: true });
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe(packageFile.version);
    expect(document.servers.map(({ url: at }) => at)).toEqual(['/']);
  });

  test('has every route under /v1, and no other', () => {
    // Routes are only listed here, so what their handlers need is never used.
    const log = createLog('error');
    const anything = new Proxy({ log } as unknown as Services, {
      get: (known, name) => (name === 'log' ? known.log : () => Buffer.alloc(32)),
    });
    const { routes } = createRoutes(anything, () => '');
    const anonymous = (path: string) => path.replace(/\*|:\w+|\{\w+\}/g, '{}');
    const served = Object.entries(routes)
      .filter(([path]) => path.startsWith('/v1'))
      .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${anonymous(path)}`));
    const documented = operations.map(({ path, method }) => `${method.toUpperCase()} ${anonymous(path)}`);
    expect(documented.toSorted()).toEqual(served.toSorted());
  });

  test('describes the parameters of the contract', () => {
    const parametersOf = (path: string, method: string) =>
      document.paths[path]?.[method]?.parameters?.map(({ name }) => name) ?? [];
    expect(parametersOf('/v1/models', 'get')).toEqual([]);
    expect(parametersOf('/v1/models/{model}', 'get')).toEqual(['model']);
    expect(parametersOf('/v1/key', 'get')).toEqual([]);
    expect(parametersOf('/v1/generations', 'get')).toEqual(['limit', 'cursor', 'status', 'model']);
    expect(parametersOf('/v1/generations/{request_id}', 'get')).toEqual(['request_id']);
    expect(parametersOf('/v1/usage', 'get')).toEqual(['limit']);
    for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/images/generations'])
      expect(parametersOf(path, 'post')).toEqual(['Idempotency-Key', 'x-end-user', 'x-tags']);
    expect(parametersOf('/v1/responses/input_tokens', 'post')).toEqual([]);
  });

  test('has one type for every successful body, which no client has to tell from another', () => {
    for (const { path, operation } of operations) {
      const content = operation.responses['200']?.content ?? {};
      expect([path, Object.keys(content)]).toEqual([path, ['application/json']]);
      const reference = String(content['application/json']?.schema.$ref);
      const component = document.components.schemas[reference.split('/').at(-1) ?? ''];
      expect([path, component?.type, component?.anyOf, component?.oneOf]).toEqual([
        path,
        'object',
        undefined,
        undefined,
      ]);
    }
    const stream = document.paths['/v1/chat/completions']?.post?.responses['200']?.['x-event-stream'];
    expect(JSON.stringify(stream?.schema)).toMatch(/ChatCompletionChunk.*ErrorEvent/);
  });

  test('has words for every field of a request, and for no other', () => {
    const fields = (id: string) =>
      Object.keys((document.components.schemas[id]?.properties ?? {}) as object).toSorted();
    expect(Object.keys(requestNotes).toSorted()).toEqual(Object.keys(requestComponents()).toSorted());
    for (const [id, { fields: notes }] of Object.entries(requestNotes))
      expect([id, Object.keys(notes).toSorted()]).toEqual([id, fields(id)]);
  });

  test('has no field of the type null alone, for which openapi-generator generates no type', () => {
    const fields = Object.entries(document.components.schemas).flatMap(([id, { properties }]) =>
      Object.entries((properties ?? {}) as Record<string, { type?: unknown }>).map(
        ([name, { type }]) => [`${id}.${name}`, type] as const,
      ),
    );
    expect(fields.length).toBeGreaterThan(50);
    expect(fields.filter(([, type]) => type === 'null').map(([name]) => name)).toEqual([]);
  });

  test('tells generated clients which field names the kind of a message, of a part and of a format', () => {
    const { messages, response_format: format } = (document.components.schemas.ChatCompletionRequest
      ?.properties ?? {}) as Record<string, unknown>;
    const { content } = (document.components.schemas.UserMessage?.properties ?? {}) as Record<
      string,
      unknown
    >;
    const kinds = (schema: unknown) =>
      [...JSON.stringify(schema).matchAll(/"(\w+)":"#\/components\/schemas\/(\w+)"/g)]
        .filter(([, value]) => value !== '$ref')
        .map(([, value, component]) => `${value} ${component}`);
    expect(JSON.stringify(messages)).toContain('"propertyName":"role"');
    expect(kinds(messages)).toEqual([
      'system SystemMessage',
      'user UserMessage',
      'assistant AssistantMessage',
      'tool ToolMessage',
    ]);
    expect(kinds(content)).toEqual(['text TextPart', 'image_url ImagePart']);
    expect(kinds(format)).toEqual([
      'text TextFormat',
      'json_object JsonFormat',
      'json_schema JsonSchemaFormat',
    ]);
  });

  test('has only references that resolve', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)];
    expect(references.length).toBeGreaterThan(50);
    const components = document.components as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    const lost = references.filter(([, kind = '', name = '']) => components[kind]?.[name] === undefined);
    expect(lost.map(([text]) => text)).toEqual([]);
  });
});

describe('errors', () => {
  const publicStatuses = [400, 401, 402, 403, 404, 429, 500, 502, 503, 504];
  /** What belongs to no endpoint of the document: routes that do not exist, and what nobody should ask of them. */
  const elsewhere = ['not_found', 'websocket_not_supported'];

  test('only public statuses are answered', () => {
    const statuses = operations.flatMap(({ operation }) => Object.keys(operation.responses).map(Number));
    expect([...new Set(statuses)].toSorted((a, b) => a - b)).toEqual([200, ...publicStatuses]);
  });

  test('every code that has a status is answered by an endpoint, with that status', () => {
    const rows = operations.flatMap(({ operation }) =>
      Object.entries(operation.responses).flatMap(([status, response]) =>
        (response['x-errors'] ?? []).map(({ code }) => ({ code, status: Number(status) })),
      ),
    );
    for (const { code, status } of rows)
      expect({ code, status }).toEqual({ code, status: errorTable[code].status ?? 0 });
    const answered = new Set(rows.map(({ code }) => code));
    const expected = apiErrorCodes.filter(
      (code) => errorTable[code].status !== null && !elsewhere.includes(code),
    );
    expect([...answered].toSorted()).toEqual(expected.toSorted());
  });

  test('every code that a stream can end with is in the schema of its events', () => {
    const expected = apiErrorCodes.filter((code) => errorTable[code].inBand);
    for (const code of expected) {
      const { type, message } = errorTable[code];
      expect([code, takes('ErrorEvent', { error: { message, type, code } })]).toEqual([code, true]);
    }
    expect(
      takes('ErrorEvent', { error: { message: 'x', type: 'rate_limit_error', code: 'invalid_n' } }),
    ).toBe(false);
  });

  test('the table has every row of errors.ts', () => {
    expect(document['x-errors']).toEqual(
      apiErrorCodes
        .map((code) => ({ code, ...errorTable[code] }))
        .map(({ code, status, inBand, type, retryable, message }) => ({
          code,
          status,
          in_band: inBand,
          type,
          retryable,
          message,
        })),
    );
  });

  test('each has an example that its schema takes', () => {
    for (const { path, operation } of operations) {
      for (const [status, { content, 'x-errors': errors = [] }] of Object.entries(operation.responses)) {
        if (status === '200') continue;
        const { schema, examples } = content['application/json'] ?? { schema: {}, examples: {} };
        expect([path, status, Object.keys(examples)]).toEqual([path, status, errors.map(({ code }) => code)]);
        const check = ajv.compile({ ...schema, components: document.components });
        for (const { value } of Object.values(examples)) expect([value, check(value)]).toEqual([value, true]);
        expect(check({ error: { message: 'x', type: 'x', code: 'x' } })).toBe(false);
      }
    }
  });
});

describe('examples', () => {
  const nameOf = (schema: z.core.$ZodType) => String(referenceTo(schema).$ref).split('/').at(-1) ?? '';

  const signatures = new Signatures(Buffer.alloc(32));
  const { parse: parseResponses } = responses(signatures);
  const incoming = { headers: new Headers({ 'anthropic-version': '2023-06-01' }), accountId: 'a' };
  const parsers: Readonly<Record<string, (body: unknown) => unknown>> = {
    '/v1/chat/completions': parseChat,
    '/v1/messages': (body) => parseMessages(body, incoming, signatures),
    '/v1/messages/count_tokens': (body) => parseCount(body, incoming, signatures),
    '/v1/responses': (body) => parseResponses(body, incoming),
    '/v1/responses/input_tokens': (body) => parseResponses(body, incoming),
    '/v1/images/generations': parseImages,
  };

  test('of requests are taken by the parsers, those of answers by their schemas', () => {
    for (const { path, body, response, events } of endpoints) {
      for (const { value } of Object.values(body?.examples ?? {})) {
        expect(takes(nameOf(body?.schema ?? z.never()), value)).toBe(true);
        expect(() => parsers[path]?.(value)).not.toThrow();
        expect(parsers[path]).toBeDefined();
      }
      for (const { value } of Object.values(response.examples)) {
        expect(z.safeParse(response.schema, value).error).toBeUndefined();
        expect(takes(nameOf(response.schema), value)).toBe(true);
      }
      for (const { value } of Object.values(events?.examples ?? {})) {
        expect(z.safeParse(events?.schema ?? z.never(), value).error).toBeUndefined();
        const names = ['ChatCompletionChunk', 'ErrorEvent', 'ResponseEvent', 'MessageEvent', 'MessagesError'];
        expect(names.some((name) => takes(name, value))).toBe(true);
      }
    }
  });
});

function isParsed(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch (thrown) {
    if (thrown instanceof ApiError) return false;
    throw thrown;
  }
}

describe('the schema of a chat request', () => {
  const everything = plus({
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url, detail: 'low' } },
        ],
      },
      asking,
      { role: 'tool', tool_call_id: 'call_1', content: 'nothing', name: 'look' },
      user,
    ],
    stream: true,
    stream_options: { include_usage: true },
    temperature: 1.9,
    max_tokens: 1,
    top_p: 1,
    stop: ['a', 'b'],
    presence_penalty: -2,
    tools: [
      {
        type: 'function',
        function: { name: 'look', description: 'Looks', parameters: { type: 'object' }, strict: true },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'look' } },
    parallel_tool_calls: true,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {}, strict: null } },
    seed: 2_147_483_647,
  });

  test.each([
    basic,
    everything,
    plus({ temperature: 0, top_p: null, seed: null, stop: null, stream_options: null, max_tokens: null }),
    plus({ stop: 'x', response_format: { type: 'text' }, tools: [look], tool_choice: 'none' }),
    talk(user, { role: 'assistant', content: 'Hello' }, user),
    talk(user, without(asking, 'content')),
    talk({ ...user, name: null }, { role: 'assistant', content: 'x', refusal: null, tool_calls: null }, user),
    plus({ tools: [], tool_choice: 'auto' }),
    image({ url: 'data:image/png;base64,QQ==' }),
  ])('takes what the parser takes: %j', (body) => {
    expect([isParsed(() => parseChat(body)), takes('ChatCompletionRequest', body)]).toEqual([true, true]);
  });

  const refused: readonly unknown[] = [
    5,
    null,
    [],
    {},
    without(basic, 'model'),
    without(basic, 'messages'),
    plus({ n: 1 }),
    plus({ user: null }),
    plus({ model: '' }),
    { model: 'm', messages: [] },
    talk('Hello'),
    talk({}),
    talk({ role: 'developer', content: 'x' }),
    talk({ ...user, name: 'Ann' }),
    talk({ role: 'system', content: null }),
    parts(),
    parts({ type: 'input_audio' }),
    parts({ type: 'text' }),
    image(url),
    image({ url, detail: 'medium' }),
    talk({ ...asking, tool_calls: [] }),
    talk({ ...asking, tool_calls: [{ ...call, id: '' }] }),
    talk(asking, { role: 'tool', content: 'x' }),
    plus({ stream: null }),
    plus({ temperature: 2 }),
    plus({ temperature: -0.1 }),
    plus({ max_tokens: 0 }),
    plus({ max_tokens: 1.5 }),
    plus({ max_tokens: 2 ** 31 }),
    plus({ top_p: 0 }),
    plus({ top_p: 1.01 }),
    plus({ stop: '' }),
    plus({ stop: [] }),
    plus({ stop: ['a', 'b', 'c', 'd', 'e'] }),
    plus({ stop: [''] }),
    plus({ presence_penalty: 2.1 }),
    plus({ seed: -1 }),
    plus({ seed: '7' }),
    talk({ ...user, refusal: 'No.' }),
    toolFunction({ name: 'x', strict: 1 }),
    tools({ type: 'custom' }),
    toolFunction({}),
    toolFunction({ name: 'with space' }),
    toolFunction({ name: 'x', parameters: [] }),
    plus({ tools: [look], tool_choice: 'required' }),
    plus({ response_format: { type: 'xml' } }),
    plus({ response_format: { type: 'text', json_schema: {} } }),
    jsonSchema({ name: 'x'.repeat(65) }),
    jsonSchema({ name: 'x', strict: 'yes' }),
    plus({ stream: true, stream_options: { include_obfuscation: true } }),
  ];
  test.each(refused.map((body) => [body]))('refuses what the parser refuses: %j', (body) => {
    expect([isParsed(() => parseChat(body)), takes('ChatCompletionRequest', body)]).toEqual([false, false]);
  });

  // What several fields together mean, and what an address is made of, JSON Schema cannot say: the descriptions do.
  test.each([
    plus({ stream_options: {} }),
    plus({ parallel_tool_calls: true }),
    plus({ tools: [look, look] }),
    plus({ tools: [look], tool_choice: { type: 'function', function: { name: 'listen' } } }),
    talk({ role: 'assistant', content: null }),
    talk({ role: 'tool', tool_call_id: 'call_1', content: 'x' }),
    image({ url: 'http://example.com/cat.png' }),
  ])('leaves to the parser: %j', (body) => {
    expect([isParsed(() => parseChat(body)), takes('ChatCompletionRequest', body)]).toEqual([false, true]);
  });

  test('judges any change of a body as the schema of the parser does', () => {
    const isAddress = (path: readonly (string | number)[]) => path.at(-1) === 'url';
    const places = pathsIn(everything).filter((path) => !isAddress(path));
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.jsonValue(), (place, value) => {
        const body: unknown = JSON.parse(JSON.stringify(replaced(everything, place, value)));
        expect(takes('ChatCompletionRequest', body)).toBe(chatRequestSchema.safeParse(body).success);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('the schema of an image request', () => {
  const body = { model: 'm', prompt: 'A cat', size: '1024x1024', n: 4, response_format: 'url' };

  test.each([body, { model: 'm', prompt: 'A cat' }])('takes what the parser takes: %j', (taken) => {
    expect([isParsed(() => parseImages(taken)), takes('ImageRequest', taken)]).toEqual([true, true]);
  });

  test('judges any change of a body as the schema of the parser does', () => {
    const places = [...pathsIn(body), ['quality']];
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.jsonValue(), (place, value) => {
        const changed: unknown = JSON.parse(JSON.stringify(replaced(body, place, value)));
        expect(takes('ImageRequest', changed)).toBe(imageRequestSchema.safeParse(changed).success);
      }),
    );
  });
});

type JsonPath = readonly (string | number)[];

/** Every place in a value, and for each object a place where nothing should be. */
function pathsIn(value: unknown, path: JsonPath = []): JsonPath[] {
  if (Array.isArray(value)) return [path, ...value.flatMap((item, index) => pathsIn(item, [...path, index]))];
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([name, item]) => pathsIn(item, [...path, name]));
  return [path, [...path, 'foreign'], ...inner];
}

function replaced(value: unknown, [step, ...rest]: JsonPath, by: unknown): unknown {
  if (step === undefined) return by;
  if (Array.isArray(value))
    return value.map((item, index) => (index === step ? replaced(item, rest, by) : item));
  const object = value as Readonly<Record<string, unknown>>;
  return { ...object, [step]: replaced(object[step], rest, by) };
}

describe('the page', () => {
  const page = renderPage(createDocument(), 'https://gateway.example.com');

  test('has a place for every endpoint and every error', () => {
    const expected = [
      ...operations.map(({ operation }) => `id="${operation.operationId}"`),
      ...operations.map(({ path }) => path.replaceAll('/', '/<wbr>')),
      ...apiErrorCodes.map((code) => `id="error-${code}"`),
    ];
    expect(expected.filter((text) => !page.includes(text))).toEqual([]);
  });

  test('links only to what is on it or on this gateway', () => {
    const targets = [...page.matchAll(/href="([^"]*)"/g)].map(([, target = '']) => target);
    const inside = targets.filter((target) => target.startsWith('#'));
    expect(inside.filter((target) => !page.includes(`id="${target.slice(1)}"`))).toEqual([]);
    const others = new Set(targets.filter((target) => !target.startsWith('#')));
    expect(others).toEqual(new Set(['/', '/docs.css', '/docs/clients', '/openapi.json']));
  });

  test('has one script, no style of its own, and nothing from elsewhere', () => {
    const suspicious = /<script|<style| style=| on\w+=|src=|@import|<!-- \w+ -->|undefined/g;
    const rest = page.replace('<script src="/docs.js"></script>', '');
    expect([...rest.matchAll(suspicious)].map(([text]) => text)).toEqual([]);
  });

  test('shows requests that a shell understands', async () => {
    const odd = { model: "it's", messages: [{ role: 'user', content: `"$HOME" \`id\` \\ '` }] };
    const samples = endpoints.flatMap(({ method, path, parameters, body }) =>
      [odd, ...Object.values(body?.examples ?? {}).map(({ value }) => value)].map((value) => ({
        method,
        url: `http://gateway${path}`,
        parameters,
        body: body === null ? null : value,
      })),
    );
    for (const sample of samples) {
      const script = `OPENAI_API_KEY=key; curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }; ${curl(sample)}`;
      const words = (await Bun.$`sh -c ${script}`.quiet().text()).split('\0');
      expect(words).toContain('Authorization: Bearer key');
      expect(words.find((word) => word.startsWith('http://gateway/v1/'))).not.toMatch(/[{}]/);
      if (sample.body !== null) expect(JSON.parse(words[words.indexOf('-d') + 1] ?? '')).toEqual(sample.body);
    }
  });

  const origin = 'http://gateway';
  const sdkSamples = endpoints.flatMap(({ method, path, parameters, body }) =>
    Object.values(body?.examples ?? { none: { value: null } }).map(({ value }) => ({
      method,
      path,
      origin,
      parameters,
      body: value,
    })),
  );

  test('shows requests with which the SDK for Node sends the same as curl', async () => {
    for (const sample of sdkSamples) {
      const sent: Request[] = [];
      const options = {
        apiKey: 'key',
        maxRetries: 0,
        fetch: async (...input: unknown[]) => {
          sent.push(new Request(...(input as [string, RequestInit])));
          const { body } = sample as { body: { stream?: boolean } | null };
          if (body?.stream !== true) return Response.json({ object: 'response', output: [] });
          return new Response('data: [DONE]\n\n', { headers: { 'content-type': 'text/event-stream' } });
        },
      };
      const make = (Sdk: typeof OpenAI | typeof Anthropic) => (given: { baseURL: string }) =>
        new Sdk({ ...given, ...options });
      const [imported = '', ...lines] = nodeSample(sample).split('\n');
      const isForAnthropic = sample.path.startsWith('/v1/messages');
      expect(imported).toBe(
        isForAnthropic ? "import Anthropic from '@anthropic-ai/sdk';" : "import OpenAI from 'openai';",
      );
      const text = lines.join('\n').replace(/\bnew (?=OpenAI|Anthropic)/, '');
      const program = new Function('OpenAI', 'Anthropic', 'console', `return (async () => {${text}})();`);
      await program(make(OpenAI), make(Anthropic), { log: () => {} });
      const [request] = sent;
      expect(request?.method.toLowerCase()).toBe(sample.method);
      expect(curl({ ...sample, url: `${origin}${sample.path}` })).toContain(request?.url ?? 'nothing');
      if (sample.body !== null) expect(await request?.json()).toEqual(sample.body);
    }
  });

  test('shows requests in Python', () => {
    const texts = sdkSamples.map((sample) => pythonSample(sample));
    const body = { model: 'm', messages: [{ role: 'user', content: 'say "hi"' }], stop: null, seed: 1 };
    expect(
      pythonSample({ method: 'post', path: '/v1/chat/completions', origin, parameters: [], body }),
    ).toBe(`from openai import OpenAI

client = OpenAI(base_url="http://gateway/v1")  # reads OPENAI_API_KEY

print(client.chat.completions.create(
    model="m",
    messages=[{"role": "user", "content": "say \\"hi\\""}],
    stop=None,
    seed=1,
))`);
    for (const text of texts) expect(text).not.toMatch(/\b(?:true|false|null|undefined)\b/);
    expect(texts.some((text) => text.includes('client.get("/generations", cast_to=object, options='))).toBe(
      true,
    );
    expect(texts.some((text) => text.includes('for chunk in client.chat.completions.create('))).toBe(true);
  });

  test('shows one sample at a time without a script, each reachable with the keyboard', () => {
    const page = renderPage(document, origin);
    const groups = [...page.matchAll(/<div class="tabs"[^>]*>(.*?)<\/div>/gs)].map(([, html = '']) => html);
    expect(groups).toHaveLength(sdkSamples.length);
    for (const html of groups) {
      const ids = [...html.matchAll(/<input type="radio" name="[\w-]+" id="([\w-]+)"/g)].map(([, id]) => id);
      expect(ids).toHaveLength(3);
      expect(html.match(/ checked/g)).toHaveLength(1);
      for (const id of ids) expect(html).toContain(`<label for="${id}">`);
      expect(html.match(/<figure /g)).toHaveLength(3);
    }
    const all = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('a gateway', () => {
  let database: TestDatabase;
  let gateway: Gateway;
  let key: string;

  beforeAll(async () => {
    database = await createDatabase();
    const environment = {
      DATABASE_URL: database.url,
      TOLLGATE_DATA: temporaryFolder(),
      // The examples name its models.
      TOLLGATE_CATALOG: shippedCatalog,
    };
    gateway = await startGateway(environment);
    const account = await runCommand<{ id: string }>(
      ['account', 'create', '--name', 'Reader', '--credit', '5'],
      environment,
    );
    ({ key } = await runCommand<{ key: string }>(['key', 'create', '--account', account.id], environment));
  });

  afterAll(async () => {
    await gateway.stop();
    await database.close();
  });

  test('publishes the document and its page, to anyone', async () => {
    const published = await fetch(`${gateway.origin}/openapi.json`);
    expect(published.headers.get('content-type')).toStartWith('application/json');
    expect(await published.json()).toEqual(document);
    for (const [path, type] of [
      ['/docs', 'text/html'],
      ['/docs.css', 'text/css'],
      ['/docs.js', 'text/javascript'],
    ] as const) {
      const response = await fetch(`${gateway.origin}${path}`);
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        `${type}; charset=utf-8`,
      ]);
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(response.headers.get('x-service-request-id')).toMatch(/^req_/);
    }
    const page = await (await fetch(`${gateway.origin}/docs`)).text();
    expect(page.includes(`curl ${gateway.origin}/v1/models`)).toBe(true);
    const guide = await (await fetch(`${gateway.origin}/docs/chat`)).text();
    expect(guide).toContain(`curl ${gateway.origin}/v1/chat/completions`);
    for (const text of [page, guide]) expect(text).not.toContain('127.0.0.1:8080');
  });

  const withBody = endpoints.flatMap(({ path, body }) =>
    Object.values(body?.examples ?? {}).map(({ summary, value }) => [path, summary, value] as const),
  );

  test.each(withBody)('answers the example of %s: %s', async (path, _, value) => {
    const response = await fetch(`${gateway.origin}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(path.startsWith('/v1/messages') && { 'anthropic-version': '2023-06-01' }),
      },
      body: JSON.stringify(value),
    });
    const text = await response.text();
    expect([response.status, text.slice(0, 300)]).toEqual([200, text.slice(0, 300)]);
  });
});
