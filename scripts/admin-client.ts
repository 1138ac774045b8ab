/**
 * npm run admin-client
 *
 * Writes tests/support/admin-client.ts: a client for the admin API, generated from its OpenAPI document. The tests use it, so
 * the document describes what the gateway does, and is good enough to generate a client from.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AdminDocument, createAdminDocument } from '../src/openapi/admin/document.ts';

type Schema = Readonly<{
  $ref?: string;
  type?: string | readonly string[];
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  allOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: Schema | boolean;
}>;

type Parameter = Readonly<{ name: string; in: string; required: boolean; schema: Schema }>;
/** Without JSON it is a file, which clients get as text. */
type Content = Readonly<Partial<Record<'application/json', Readonly<{ schema: Schema }>>>>;
type Operation = Readonly<{
  operationId: string;
  tags: readonly string[];
  summary: string;
  parameters?: readonly Parameter[];
  requestBody?: Readonly<{ content: Content }>;
  responses: Readonly<Record<string, Readonly<{ content: Content }>>>;
}>;

export const clientFile = join(import.meta.dir, '../tests/support/admin-client.ts');

export function generateClient(given: AdminDocument): string {
  // As clients get it.
  const document = JSON.parse(JSON.stringify(given)) as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => tags.includes('Admin'))
      .map(([method, operation]) => ({ path, method, operation })),
  );
  const { schemas } = document.components;
  const types = namesUsed(operations, schemas).map(
    (name) => `export type ${name} = ${typeOf(schemas[name] ?? {})};`,
  );
  const signatures = operations.map(
    ({ operation }) =>
      `  /** ${operation.summary}. */\n  ${operation.operationId}: ${signatureOf(operation)};`,
  );
  const rows = operations.map(({ method, path, operation }) => {
    const queries = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
    const words = [method.toUpperCase(), path, ...queries.map(({ name }) => name)];
    return `  ${operation.operationId}: [${words.map((word) => `'${word}'`).join(', ')}],`;
  });
  return [
    header,
    ...types,
    '',
    'export type AdminClient = Readonly<{',
    ...signatures,
    '}>;',
    '',
    '/** The method, the path, and the names of query parameters. */',
    'const operations: Readonly<Record<keyof AdminClient, readonly [string, string, ...string[]]>> = {',
    ...rows,
    '};',
    '',
    runtime,
  ].join('\n');
}

/** Every component that the operations need, directly or not, by name. */
function namesUsed(operations: readonly unknown[], schemas: Readonly<Record<string, Schema>>): string[] {
  const found = new Set<string>();
  const visit = (value: unknown) => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (found.has(name)) continue;
      found.add(name);
      visit(schemas[name]);
    }
  };
  visit(operations);
  return [...found].toSorted();
}

function signatureOf({ parameters = [], requestBody, responses }: Operation): string {
  const fields = parameters.map(({ name, required, schema }) => {
    const type = typeOf(schema);
    return `${camelCase(name)}${required ? '' : '?'}: ${type}`;
  });
  if (requestBody !== undefined)
    fields.push(`body: ${typeOf(requestBody.content['application/json']?.schema ?? {})}`);
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const answer =
    success === undefined
      ? 'unknown'
      : typeOf(success.content['application/json']?.schema ?? { type: 'string' });
  const isOptional = fields.every((field) => /^\w+\?:/.test(field));
  return `(input${isOptional ? '?' : ''}: Readonly<{ ${fields.join('; ')} }>) => Promise<Answer<${answer}>>`;
}

/** If-Match → ifMatch */
function camelCase(name: string): string {
  const [first = '', ...rest] = name.split('-');
  return [first.toLowerCase(), ...rest].join('');
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.allOf !== undefined) return schema.allOf.map(typeOf).join(' & ');
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  return types.length === 0 ? 'unknown' : types.map((type) => typeNamed(type, schema)).join(' | ');
}

function typeNamed(type: string, schema: Schema): string {
  if (type === 'array') return `(${typeOf(schema.items ?? {})})[]`;
  if (type === 'integer') return 'number';
  return type === 'object' ? objectOf(schema) : type;
}

function objectOf({ properties, required = [], additionalProperties }: Schema): string {
  if (properties === undefined)
    return `Record<string, ${typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'}>`;
  const fields = Object.entries(properties).map(
    ([name, schema]) => `${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`,
  );
  return `{ ${fields.join('; ')} }`;
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

const header = `/** Generated by npm run admin-client from the OpenAPI document. Do not edit. */
`;

const runtime = `/** A response that succeeded. */
export type Answer<Body> = Readonly<{ status: number; headers: Headers; body: Body }>;

/** A refusal, by its code. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
  readonly status: number;
  readonly code: string;
  readonly param: string | null;

  constructor(status: number, error: Readonly<{ message: string; code: string; param?: string }>) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.param = error.param ?? null;
  }
}

type Input = Readonly<Record<string, unknown>>;

export function adminClient(origin: string, token: string): AdminClient {
  const call = async (operation: keyof AdminClient, input: Input = {}): Promise<Answer<unknown>> => {
    const [method, pattern, ...queries] = operations[operation];
    const path = pattern.replaceAll(/\\{(\\w+)\\}/g, (_, name: string) => encodeURIComponent(String(input[name])));
    const url = new URL(path, origin);
    for (const name of queries) if (input[name] !== undefined) url.searchParams.set(name, String(input[name]));
    const headers = new Headers({ authorization: \`Bearer \${token}\` });
    if (input.ifMatch !== undefined) headers.set('if-match', String(input.ifMatch));
    if (input.idempotencyKey !== undefined) headers.set('idempotency-key', String(input.idempotencyKey));
    if (input.body !== undefined) headers.set('content-type', 'application/json');
    const body = input.body === undefined ? null : JSON.stringify(input.body);
    const response = await fetch(url, { method, headers, body });
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    const answer: unknown = await (isJson ? response.json() : response.text());
    if (!response.ok) throw new AdminError(response.status, (answer as { error: ConstructorParameters<typeof AdminError>[1] }).error);
    return { status: response.status, headers: response.headers, body: answer };
  };
  const names = Object.keys(operations) as (keyof AdminClient)[];
  return Object.fromEntries(names.map((name) => [name, (input?: Input) => call(name, input)])) as unknown as AdminClient;
}
`;

if (import.meta.main) writeFileSync(clientFile, generateClient(createAdminDocument()));
