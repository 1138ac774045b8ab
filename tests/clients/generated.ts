/** Clients generated from the published document: they have to compile, and where that is cheap, to work. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, prepareNode, pythonEnvironment, run } from './prepare.ts';

export type Generator = Readonly<{
  name: string;
  /** Throws when the client does not compile; returns what it did. */
  generate: (gateway: Readonly<{ origin: string; key: string }>) => string;
}>;

const generatorVersion = '7.25.0';

export const generators: readonly Generator[] = [
  {
    name: 'openapi-typescript',
    generate: ({ origin }) => {
      const folder = freshFolder('openapi-typescript');
      const modules = join(prepareNode(), 'node_modules');
      run([join(modules, '.bin/openapi-typescript'), `${origin}/openapi.json`, '-o', 'schema.d.ts'], folder);
      writeFileSync(join(folder, 'usage.ts'), typescriptUsage);
      compile(folder, ['usage.ts', 'schema.d.ts'], modules);
      return 'compiles, with openapi-fetch';
    },
  },
  {
    name: 'openapi-python-client',
    generate: ({ origin, key }) => {
      const folder = freshFolder('openapi-python-client');
      const python = pythonEnvironment(['openapi-python-client==0.29.1', 'mypy==2.4.1']);
      const program = (name: string) => join(python, 'bin', name);
      run([program('openapi-python-client'), 'generate', '--url', `${origin}/openapi.json`], folder);
      const generated = join(folder, readdirSync(folder)[0] ?? '');
      writeFileSync(join(generated, 'usage.py'), pythonUsage(origin, key));
      run([program('python'), '-m', 'mypy', '--strict', 'usage.py', 'tollgate_client'], generated);
      run([program('python'), 'usage.py'], generated);
      return 'passes mypy --strict, and chats';
    },
  },
  {
    name: 'openapi-generator',
    generate: ({ origin }) => {
      if (Bun.which('mvn') === null) return 'not run: needs mvn and java (apt-get install maven)';
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
      compile(folder, ['index.ts'], join(prepareNode(), 'node_modules'));
      return 'compiles, as typescript-fetch';
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
