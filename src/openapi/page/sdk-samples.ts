/** A request with the SDKs for Python and Node, OpenAI's or Anthropic's. Endpoints that the SDKs do not have go through their plain methods. */
import type { Parameter } from '../endpoints/endpoint.ts';

export type SdkRequest = Readonly<{
  method: string;
  path: string;
  origin: string;
  parameters: readonly Parameter[];
  body: unknown;
}>;

/** How the SDK for Node calls an endpoint. That for Python has the same names in its own spelling. */
const methods: ReadonlyMap<string, string> = new Map([
  ['post /v1/chat/completions', 'chat.completions.create'],
  ['post /v1/responses', 'responses.create'],
  ['post /v1/responses/input_tokens', 'responses.inputTokens.count'],
  ['post /v1/messages', 'messages.create'],
  ['post /v1/messages/count_tokens', 'messages.countTokens'],
  ['post /v1/images/generations', 'images.generate'],
  ['get /v1/models', 'models.list'],
  ['get /v1/models/{model}', 'models.retrieve'],
]);

/** Anthropic's SDKs add `/v1` themselves. */
const isForAnthropic = ({ path }: SdkRequest) => path.startsWith('/v1/messages');

export function pythonSample(request: SdkRequest): string {
  const { body, origin } = request;
  const call = pythonCall(request);
  const head = isForAnthropic(request)
    ? [
        'from anthropic import Anthropic',
        '',
        `client = Anthropic(base_url="${origin}")  # reads ANTHROPIC_API_KEY`,
      ]
    : ['from openai import OpenAI', '', `client = OpenAI(base_url="${origin}/v1")  # reads OPENAI_API_KEY`];
  return [
    ...head,
    '',
    ...(isStream(body) ? [`for chunk in ${call}:`, '    print(chunk)'] : [`print(${call})`]),
  ].join('\n');
}

export function nodeSample(request: SdkRequest): string {
  const { body, origin } = request;
  const call = `await ${nodeCall(request)}`;
  const head = isForAnthropic(request)
    ? [
        "import Anthropic from '@anthropic-ai/sdk';",
        '',
        `const client = new Anthropic({ baseURL: '${origin}' }); // reads ANTHROPIC_API_KEY`,
      ]
    : [
        "import OpenAI from 'openai';",
        '',
        `const client = new OpenAI({ baseURL: '${origin}/v1' }); // reads OPENAI_API_KEY`,
      ];
  return [
    ...head,
    '',
    ...(isStream(body)
      ? [`const stream = ${call};`, 'for await (const chunk of stream) console.log(chunk);']
      : [`console.log(${call});`]),
  ].join('\n');
}

function pythonCall({ method, path, parameters, body }: SdkRequest): string {
  const name = methods
    .get(`${method} ${path}`)
    ?.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
  const [own] = valuesIn(parameters, 'path');
  if (name === undefined) {
    const query = Object.fromEntries(valuesIn(parameters, 'query'));
    const options = Object.keys(query).length === 0 ? '' : `, options={"params": ${pythonValue(query, 0)}}`;
    return `client.get("${plainPath(path, parameters)}", cast_to=object${options})`;
  }
  if (body === null) return `client.${name}(${own === undefined ? '' : pythonValue(own[1], 0)})`;
  const fields = Object.entries(body as object).map(([key, value]) => `    ${key}=${pythonValue(value, 1)},`);
  return [`client.${name}(`, ...fields, ')'].join('\n');
}

function nodeCall({ method, path, parameters, body }: SdkRequest): string {
  const name = methods.get(`${method} ${path}`);
  const [own] = valuesIn(parameters, 'path');
  if (name === undefined) {
    const query = Object.fromEntries(valuesIn(parameters, 'query'));
    const options = Object.keys(query).length === 0 ? '' : `, { query: ${nodeValue(query)} }`;
    return `client.get('${plainPath(path, parameters)}'${options})`;
  }
  const given = body ?? own?.[1];
  return `client.${name}(${given === undefined ? '' : nodeValue(given)})`;
}

function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true;
}

function valuesIn(parameters: readonly Parameter[], where: Parameter['in']): [string, unknown][] {
  return parameters
    .filter((parameter) => parameter.in === where && parameter.example !== undefined)
    .map(({ name, example }) => [name, example]);
}

/** Below the base URL, with examples for the path parameters. */
function plainPath(path: string, parameters: readonly Parameter[]): string {
  return valuesIn(parameters, 'path').reduce(
    (text, [name, value]) => text.replace(`{${name}}`, encodeURIComponent(String(value))),
    path.replace(/^\/v1/, ''),
  );
}

/** Short values stay on one line, as both languages' formatters write them. */
const maxLine = 60;

function pythonValue(value: unknown, depth: number): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const parts = (inner: number) =>
    Array.isArray(value)
      ? value.map((item) => pythonValue(item, inner))
      : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${pythonValue(item, inner)}`);
  const line = `${open}${parts(depth).join(', ')}${close}`;
  if (line.length <= maxLine && !line.includes('\n')) return line;
  const indent = '    '.repeat(depth + 1);
  return [open, ...parts(depth + 1).map((part) => `${indent}${part},`), '    '.repeat(depth) + close].join(
    '\n',
  );
}

/** JSON is JavaScript; without quotes around names it also looks like it. */
function nodeValue(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:');
}
