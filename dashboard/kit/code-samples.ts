/**
 * A chat or image request as code in three languages, in any of the formats that the gateway speaks. The code reads the key from the environment, unless it is given one, so
 * that keys do not end up in programs.
 */
type RequestBody = Readonly<Record<string, unknown>>;
export type ChatRequestBody = RequestBody;

export const keyVariable = 'OPENAI_API_KEY';

const maxLineLength = 64;
const step = '  ';
const pythonStep = '    ';

export function curlOf(
  apiOrigin: string,
  request: RequestBody,
  key = `$${keyVariable}`,
  path = '/v1/chat/completions',
  headers: readonly string[] = [],
): string {
  const flags = request.stream === true ? ' -N' : '';
  return [
    `curl${flags} ${apiOrigin}${path} \\`,
    `${step}-H "Authorization: Bearer ${key}" \\`,
    ...headers.map((header) => `${step}-H "${header}" \\`),
    `${step}-H "Content-Type: application/json" \\`,
    // A quoted here-document needs no escaping and has no length limit.
    `${step}--data-binary @- <<'JSON'`,
    bodyText(request),
    'JSON',
  ].join('\n');
}

/** On one line if it fits. */
function bodyText(request: RequestBody): string {
  const text = JSON.stringify(request);
  return text.length <= maxLineLength ? text : JSON.stringify(request, null, 2);
}

export function pythonOf(apiOrigin: string, request: ChatRequestBody, key?: string): string {
  const name = request.stream === true ? 'stream' : 'completion';
  return [
    ...pythonCall(apiOrigin, `${name} = client.chat.completions.create`, request, key),
    ...pythonReading(request),
  ].join('\n');
}

export function pythonImagesOf(apiOrigin: string, request: RequestBody): string {
  return [
    ...pythonCall(apiOrigin, 'images = client.images.generate', request),
    '',
    'for image in images.data:',
    `${pythonStep}print(image.url)`,
  ].join('\n');
}

/** The library of the vendor whose format it is. Only some want the path in the address. */
type Library = Readonly<{ python: string; typescript: string; client: string; base: string }>;
const openAi: Library = { python: 'openai', typescript: 'openai', client: 'OpenAI', base: '/v1' };
const anthropic: Library = {
  python: 'anthropic',
  typescript: '@anthropic-ai/sdk',
  client: 'Anthropic',
  base: '',
};

export function curlMessagesOf(apiOrigin: string, request: RequestBody): string {
  return curlOf(apiOrigin, request, undefined, '/v1/messages', ['anthropic-version: 2023-06-01']);
}

export function pythonMessagesOf(apiOrigin: string, request: RequestBody): string {
  const call = pythonCall(apiOrigin, 'message = client.messages.create', request, undefined, anthropic);
  return [...call, '', 'print(message.content)'].join('\n');
}

export function typescriptMessagesOf(apiOrigin: string, request: RequestBody): string {
  const call = 'const message = await client.messages.create';
  return [
    ...typescriptCall(apiOrigin, call, request, undefined, anthropic),
    'console.log(message.content);',
  ].join('\n');
}

export function pythonResponsesOf(apiOrigin: string, request: RequestBody): string {
  const call = pythonCall(apiOrigin, 'response = client.responses.create', request);
  return [...call, '', 'print(response.output_text)'].join('\n');
}

export function typescriptResponsesOf(apiOrigin: string, request: RequestBody): string {
  const call = typescriptCall(apiOrigin, 'const response = await client.responses.create', request);
  return [...call, 'console.log(response.output_text);'].join('\n');
}

function pythonCall(
  apiOrigin: string,
  call: string,
  request: RequestBody,
  key?: string,
  { python, client, base } = openAi,
): readonly string[] {
  const keyCode = key === undefined ? `os.environ["${keyVariable}"]` : JSON.stringify(key);
  const fields = Object.entries(request).map(
    ([name, value]) => `${pythonStep}${name}=${pythonLiteral(value, pythonStep)},`,
  );
  return [
    ...(key === undefined ? ['import os', ''] : []),
    `from ${python} import ${client}`,
    '',
    `client = ${client}(base_url=${JSON.stringify(`${apiOrigin}${base}`)}, api_key=${keyCode})`,
    '',
    `${call}(`,
    ...fields,
    ')',
  ];
}

function pythonReading(request: ChatRequestBody): readonly string[] {
  if (request.stream !== true) return ['', 'print(completion.choices[0].message)'];
  const shown = hasTools(request)
    ? 'print(chunk.choices[0].delta)'
    : 'print(chunk.choices[0].delta.content or "", end="", flush=True)';
  return ['', 'for chunk in stream:', `${pythonStep}if chunk.choices:`, `${pythonStep}${pythonStep}${shown}`];
}

export function typescriptOf(apiOrigin: string, request: ChatRequestBody, key?: string): string {
  const name = request.stream === true ? 'stream' : 'completion';
  return [
    ...typescriptCall(apiOrigin, `const ${name} = await client.chat.completions.create`, request, key),
    ...typescriptReading(request),
  ].join('\n');
}

export function typescriptImagesOf(apiOrigin: string, request: RequestBody): string {
  return [
    ...typescriptCall(apiOrigin, 'const images = await client.images.generate', request),
    'for (const image of images.data ?? []) console.log(image.url);',
  ].join('\n');
}

function typescriptCall(
  apiOrigin: string,
  call: string,
  request: RequestBody,
  key?: string,
  { typescript, client, base } = openAi,
): readonly string[] {
  const origin = typescriptLiteral(`${apiOrigin}${base}`, '');
  const keyCode = key === undefined ? `process.env.${keyVariable}` : typescriptLiteral(key, '');
  return [
    `import ${client} from '${typescript}';`,
    '',
    `const client = new ${client}({ baseURL: ${origin}, apiKey: ${keyCode} });`,
    '',
    `${call}(${typescriptLiteral(request, '')});`,
    '',
  ];
}

function typescriptReading(request: ChatRequestBody): readonly string[] {
  if (request.stream !== true) return ['console.log(completion.choices[0]?.message);'];
  const shown = hasTools(request)
    ? 'console.log(JSON.stringify(chunk.choices[0]?.delta));'
    : "process.stdout.write(chunk.choices[0]?.delta.content ?? '');";
  return ['for await (const chunk of stream) {', `${step}${shown}`, '}'];
}

function hasTools(request: ChatRequestBody): boolean {
  return request.tools !== undefined;
}

/** JSON strings are valid in Python and TypeScript; None, True and False and the names of fields differ. */
function pythonLiteral(value: unknown, margin: string): string {
  if (value === null || value === undefined) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  return literal(value, margin, pythonStep, pythonLiteral, (name) => JSON.stringify(name));
}

function typescriptLiteral(value: unknown, margin: string): string {
  return literal(value, margin, step, typescriptLiteral, typescriptName);
}

function typescriptName(name: string): string {
  // As a plain field name, it would set the prototype.
  if (name === '__proto__') return '["__proto__"]';
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function literal(
  value: unknown,
  margin: string,
  indent: string,
  inner: (value: unknown, margin: string) => string,
  nameOf: (name: string) => string,
): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const deeper = `${margin}${indent}`;
  const parts = Array.isArray(value)
    ? value.map((item: unknown) => inner(item, deeper))
    : Object.entries(value).map(([name, item]) => `${nameOf(name)}: ${inner(item, deeper)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (parts.length === 0) return `${open}${close}`;
  return `${open}\n${parts.map((part) => `${deeper}${part},\n`).join('')}${margin}${close}`;
}
