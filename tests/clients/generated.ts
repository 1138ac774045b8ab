/** Clients generated from the published document: they have to compile, and where that is cheap, to work. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import modules from './node/package.json';
import { cacheFolder, missingFor, prepareNode, pythonEnvironment, run } from './prepare.ts';

export type Generator = Readonly<{
  name: string;
  version: string;
  /** Null when everything is there, else what is missing. */
  missing: () => string | null;
  /** Throws when the client does not compile; returns what it did. */
  generate: (gateway: Readonly<{ origin: string; key: string }>) => string;
}>;

const pythonVersion = '0.29.1';
const generatorVersion = '7.25.0';

export const generators: readonly Generator[] = [
  {
    name: 'openapi-typescript',
    version: modules.dependencies['openapi-typescript'],
    missing: () => missingFor('node'),
    generate: ({ origin }) => {
      const folder = freshFolder('openapi-typescript');
      const installed = join(prepareNode(), 'node_modules');
      run(
        [join(installed, '.bin/openapi-typescript'), `${origin}/openapi.json`, '-o', 'schema.d.ts'],
        folder,
      );
      writeFileSync(join(folder, 'usage.ts'), typescriptUsage);
      compile(folder, ['usage.ts', 'schema.d.ts'], installed);
      return 'compiles with `openapi-fetch`';
    },
  },
  {
    name: 'openapi-python-client',
    version: pythonVersion,
    missing: () => missingFor('python'),
    generate: ({ origin, key }) => {
      const folder = freshFolder('openapi-python-client');
      const python = pythonEnvironment([`openapi-python-client==${pythonVersion}`, 'mypy==2.4.1']);
      const program = (name: string) => join(python, 'bin', name);
      run([program('openapi-python-client'), 'generate', '--url', `${origin}/openapi.json`], folder);
      const generated = join(folder, readdirSync(folder)[0] ?? '');
      writeFileSync(join(generated, 'usage.py'), pythonUsage(origin, key));
      run([program('python'), '-m', 'mypy', '--strict', 'usage.py', 'tollgate_client'], generated);
      run([program('python'), 'usage.py'], generated);
      return 'passes `mypy --strict`, and chats';
    },
  },
  {
    name: 'openapi-generator',
    version: generatorVersion,
    missing: () => missingFor('java'),
    generate: ({ origin, key }) => {
      const folder = freshFolder('openapi-generator');
      const jar = join(cacheFolder, `openapi-generator-cli-${generatorVersion}.jar`);
      run(
        [
          'mvn',
          '--batch-mode',
          '--quiet',
          'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy',
          `-Dartifact=org.openapitools:openapi-generator-cli:${generatorVersion}`,
          `-DoutputDirectory=${cacheFolder}`,
        ],
        cacheFolder,
      );
      run(
        [
          'java',
          '-jar',
          jar,
          'generate',
          '-g',
          'typescript-fetch',
          '-i',
          `${origin}/openapi.json`,
          '-o',
          '.',
        ],
        folder,
      );
      writeFileSync(join(folder, 'usage.ts'), fetchUsage(origin, key));
      compile(folder, ['usage.ts'], join(prepareNode(), 'node_modules'));
      run([process.execPath, 'usage.ts'], folder);
      return 'compiles as `typescript-fetch`, chats and returns the result of a tool';
    },
  },
];

function freshFolder(name: string): string {
  const folder = join(cacheFolder, 'generated', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}

function compile(folder: string, files: readonly string[], modules: string): void {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2022',
    lib: ['es2022', 'dom'],
    types: [],
    paths: { 'openapi-fetch': [join(modules, 'openapi-fetch')] },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  run([join(modules, '.bin/tsc'), '-p', '.'], folder);
}

const typescriptUsage = `import createClient from 'openapi-fetch';
import type { paths } from './schema';

const client = createClient<paths>({ baseUrl: 'http://127.0.0.1:8080' });

export async function ask(): Promise<string> {
  const { data, error } = await client.POST('/v1/chat/completions', {
    body: { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] },
  });
  if (data === undefined) throw new Error(error.error.code);
  return data.choices[0]?.message.content ?? '';
}
`;

const pythonUsage = (origin: string, key: string) => `from tollgate_client import AuthenticatedClient
from tollgate_client.api.chat import create_chat_completion
from tollgate_client.models import ChatCompletion, ChatCompletionRequest, UserMessage

client = AuthenticatedClient(base_url="${origin}", token="${key}")
body = ChatCompletionRequest(model="sandbox-chat", messages=[UserMessage(role="user", content="Hello")])
completion = create_chat_completion.sync(client=client, body=body)
assert isinstance(completion, ChatCompletion), completion
assert completion.choices[0].message.content == "You said: Hello"
`;

const fetchUsage = (
  origin: string,
  key: string,
) => `import { ChatApi, type ChatCompletionRequest, Configuration } from './index';

const api = new ChatApi(new Configuration({ basePath: '${origin}', accessToken: '${key}' }));

async function ask(messages: ChatCompletionRequest['messages'], expected: string): Promise<void> {
  const { choices } = await api.createChatCompletion({ chatCompletionRequest: { model: 'sandbox-chat', messages } });
  const text = choices[0]?.message.content ?? '';
  if (!text.includes(expected)) throw new Error(\`Expected \${expected} in \${text}\`);
}

await ask([{ role: 'user', content: 'Hello' }], 'Hello');
await ask(
  [
    { role: 'user', content: 'How is the weather in Oslo?' },
    {
      role: 'assistant',
      content: null,
      toolCalls: [{ id: 'call_1', type: 'function', _function: { name: 'get_weather', arguments: '{}' } }],
    },
    { role: 'tool', toolCallId: 'call_1', content: 'sunny' },
  ],
  'sunny',
);
export {};
`;
