/** Code that people copy sends exactly the request that it shows. It is run for real, against a server. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  curlOf,
  keyVariable,
  pythonImagesOf,
  pythonOf,
  typescriptImagesOf,
  typescriptOf,
} from '../../dashboard/kit/code-samples.ts';
import { samplesOf } from '../../dashboard/pages/models/model-samples.ts';
import { temporaryFolder } from '../support/gateway.ts';

const nasty = 'It\'s "quoted" \\ `$HOME` $(id)\nJSON\n\u2028 ünïcödé 🎈 </script> {"a":1}';
const parameters = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"odd key":{}}}');
const requests = {
  whole: { model: 'm', messages: [{ role: 'user', content: nasty }], temperature: 0.5, seed: 1 },
  streamed: {
    model: 'm',
    messages: [{ role: 'user', content: [{ type: 'text', text: nasty }] }],
    stream: true,
    stream_options: { include_usage: true },
  },
  'with tools': {
    model: 'm',
    messages: [
      { role: 'assistant', content: null, tool_calls: [] },
      { role: 'user', content: '' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
    parallel_tool_calls: false,
    stream: true,
  },
} as const;

const key = 'key-from-the-environment';
const chatPath = '/v1/chat/completions';
const imagesPath = '/v1/images/generations';
let received: { path: string; body: string; authorization: string | null }[] = [];
let server: ReturnType<typeof listen>;
const folder = temporaryFolder();

function listen() {
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const body = await request.text();
      const path = new URL(request.url).pathname;
      received.push({ path, body, authorization: request.headers.get('authorization') });
      if (path === imagesPath) return Response.json({ created: 1, data: [{ url: 'https://x.test/Hello' }] });
      const isStream = JSON.parse(body).stream === true;
      const chunk = {
        choices: [
          {
            index: 0,
            delta: { content: 'Hello' },
            message: { role: 'assistant', content: 'Hello' },
            finish_reason: null,
          },
        ],
      };
      return isStream
        ? new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
            headers: { 'content-type': 'text/event-stream' },
          })
        : Response.json(chunk);
    },
  });
}

beforeAll(() => {
  server = listen();
  symlinkSync(join(import.meta.dir, '../../node_modules'), join(folder, 'node_modules'));
});
afterAll(() => server.stop(true));

async function run(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { ...process.env, [keyVariable]: key },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (exitCode !== 0) throw new Error(errors);
  return output;
}

function expectReceived(request: unknown, path = chatPath): void {
  expect(received).toHaveLength(1);
  const [only] = received;
  // Compared as texts, because an object would hide what happens to a name such as `__proto__`.
  expect(JSON.stringify(JSON.parse(only?.body ?? ''))).toBe(JSON.stringify(request));
  expect(only?.path).toBe(path);
  expect(only?.authorization).toBe(`Bearer ${key}`);
  received = [];
}

describe.each(Object.entries(requests))('a request that is %s', (_, request) => {
  test('is sent by curl', async () => {
    const output = await run(['sh', '-c', curlOf(server.url.origin, request)]);
    expect(output).toContain('Hello');
    expectReceived(request);
  });

  test('is sent by TypeScript', async () => {
    const file = join(folder, 'sample.ts');
    writeFileSync(file, typescriptOf(server.url.origin, request));
    expect(await run([process.execPath, file])).toContain('Hello');
    expectReceived(request);
  });

  test.skipIf(Bun.which('python3') === null)('is made by Python', async () => {
    // The library is replaced by one that reports how it was called.
    writeFileSync(join(folder, 'openai.py'), fakeLibrary);
    const file = join(folder, 'sample.py');
    writeFileSync(file, pythonOf(server.url.origin, request));
    const [made] = (await run(['python3', file])).split('\n');
    expect(JSON.stringify(JSON.parse(made ?? ''))).toBe(
      JSON.stringify({ base_url: `${server.url.origin}/v1`, api_key: key, request }),
    );
  });
});

describe('a request for images', () => {
  const request = { model: 'm', prompt: nasty, size: '1024x1024', n: 2 };

  test('is sent by curl', async () => {
    expect(await run(['sh', '-c', curlOf(server.url.origin, request, undefined, imagesPath)])).toContain(
      'Hello',
    );
    expectReceived(request, imagesPath);
  });

  test('is sent by TypeScript', async () => {
    const file = join(folder, 'images.ts');
    writeFileSync(file, typescriptImagesOf(server.url.origin, request));
    expect(await run([process.execPath, file])).toBe('https://x.test/Hello\n');
    expectReceived(request, imagesPath);
  });

  test.skipIf(Bun.which('python3') === null)('is made by Python', async () => {
    writeFileSync(join(folder, 'openai.py'), fakeLibrary);
    const file = join(folder, 'images.py');
    writeFileSync(file, pythonImagesOf(server.url.origin, request));
    const [made, shown] = (await run(['python3', file])).split('\n');
    expect(JSON.parse(made ?? '')).toEqual({ base_url: `${server.url.origin}/v1`, api_key: key, request });
    expect(shown).toBe('Hello');
  });
});

describe.each(['Chat completions', 'Messages', 'Responses'])('a first request as %s', (label) => {
  const format = () =>
    samplesOf({ id: 'vendor/one', endpoint: chatPath, sizes: [] }, server.url.origin).find(
      (one) => one.label === label,
    );
  const codeIn = (language: string) =>
    format()?.samples.find((sample) => sample.label === language)?.code ?? '';

  test('is sent to its own address by curl and by TypeScript, with the same body', async () => {
    await run(['sh', '-c', codeIn('curl')]);
    const file = join(folder, 'first.ts');
    writeFileSync(file, codeIn('TypeScript'));
    await run([process.execPath, file]);
    const paths = received.map(({ path }) => path);
    const bodies = received.map(({ body }) => JSON.parse(body));
    received = [];
    expect(paths).toEqual([format()?.path ?? '', format()?.path ?? '']);
    expect(bodies[0]).toMatchObject({ model: 'vendor/one' });
    expect(bodies[1]).toEqual(bodies[0]);
  });

  test.skipIf(Bun.which('python3') === null)('is made by Python', async () => {
    writeFileSync(join(folder, 'openai.py'), fakeLibrary);
    writeFileSync(join(folder, 'anthropic.py'), fakeLibrary.replace('class OpenAI', 'class Anthropic'));
    const file = join(folder, 'first.py');
    writeFileSync(file, codeIn('Python'));
    const [made] = (await run(['python3', file])).split('\n');
    expect(JSON.parse(made ?? '')).toMatchObject({
      base_url: `${server.url.origin}${label === 'Messages' ? '' : '/v1'}`,
      api_key: key,
      request: { model: 'vendor/one' },
    });
  });
});

const fakeLibrary = `
import json

class OpenAI:
    def __init__(self, base_url, api_key):
        self.connection = {"base_url": base_url, "api_key": api_key}
        self.chat = self
        self.completions = self
        self.images = self
        self.messages = self
        self.responses = self

    def create(self, **request):
        print(json.dumps({**self.connection, "request": request}))
        class Completion(list):
            pass
        completion = Completion()
        completion.content = completion.output_text = "Hello"
        completion.choices = [type("Choice", (), {"message": "Hello"})]
        return completion

    def generate(self, **request):
        print(json.dumps({**self.connection, "request": request}))
        return type("Images", (), {"data": [type("Image", (), {"url": "Hello"})]})
`;
