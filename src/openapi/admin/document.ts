/** The whole API with the admin API under its own tag, for operators and their programs. */
import { z } from 'zod';
import { type ErrorCode, errorTable } from '../../errors.ts';
import { createDocument } from '../document.ts';
import type { Parameter } from '../endpoints/endpoint.ts';
import { componentsOf, type JsonSchema, referenceTo } from '../json-schema.ts';
import type { AdminEndpoint } from './endpoint.ts';
import { adminEndpoints } from './endpoints.ts';

export const adminPrefix = '/admin/v1';

const tag = {
  name: 'Admin',
  description:
    'For programs of the operator: accounts, keys, limits, members, money, and the state of the gateway.',
};

const errorCodes = [...new Set(adminEndpoints.flatMap(({ errors }) => errors))] as [
  ErrorCode,
  ...ErrorCode[],
];

const errorSchema = z
  .strictObject({
    error: z.strictObject({
      message: z.string().min(1).describe('For people; it may change.'),
      type: z.string(),
      param: z.string().optional().describe('The parameter that caused the error, where there is one.'),
      code: z.enum(errorCodes),
    }),
  })
  .meta({ id: 'AdminErrorResponse', description: 'The body of every error. Codes may be added later.' });

export type AdminDocument = ReturnType<typeof createAdminDocument>;

export function createAdminDocument() {
  const { tags, paths, components, ...rest } = createDocument();
  const bodies = adminEndpoints.flatMap(({ body }) => (body === null ? [] : [body.schema]));
  const responses = adminEndpoints.map(({ response }) => response);
  return {
    ...rest,
    tags: [...tags, tag],
    paths: { ...paths, ...adminPaths() },
    components: {
      ...components,
      schemas: {
        ...components.schemas,
        ...componentsOf(bodies, 'input'),
        ...componentsOf([...responses, errorSchema], 'output'),
      },
      headers: {
        ...components.headers,
        etag: {
          description: 'Stands for what an update can change. Send it back as `If-Match`.',
          schema: { type: 'string' },
        },
        'x-export-to': {
          description:
            'Where the range of the export ends. The next export can begin here, except of Generations.',
          schema: { type: 'string', format: 'date-time' },
        },
      },
      securitySchemes: {
        ...components.securitySchemes,
        adminToken: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'tg_admin_…',
          description:
            'An admin token, created by an operator in the dashboard or with `tollgate token create`.',
        },
      },
    },
  };
}

function adminPaths() {
  const paths: Record<string, Record<string, ReturnType<typeof operationOf>>> = {};
  for (const endpoint of adminEndpoints) {
    const path = `${adminPrefix}${endpoint.path}`;
    paths[path] = { ...paths[path], [endpoint.method]: operationOf(endpoint) };
  }
  return paths;
}

function operationOf(endpoint: AdminEndpoint) {
  const { operationId, summary, description, body, scope } = endpoint;
  const needs = scope === null ? 'Any token will do.' : `Needs the scope \`${scope}\`.`;
  const parameters = [...pathParameters(endpoint), ...endpoint.query, ...headerParameters(endpoint)];
  return {
    operationId,
    tags: [tag.name],
    summary,
    description: [description, needs].filter((text) => text !== '').join(' '),
    security: [{ adminToken: [] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: referenceTo(body.schema), example: body.example } },
          },
        }),
    responses: responsesOf(endpoint),
  };
}

const describedParts = new Map<string, string>([
  ['account', 'The ID of an account, or `external_id:` and its ID in your own system.'],
  ['generation', 'A request ID.'],
  ['id', 'The ID of the limit.'],
  ['number', 'The number of the entry within its account.'],
  ['user', 'The ID of a user.'],
]);

function pathParameters({ path }: AdminEndpoint): Parameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: describedParts.get(name) ?? `The ID of the ${name}.`,
    schema: { type: 'string' },
  }));
}

const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Your own identifier for this one change, remembered for 24 hours per token. A retry changes nothing and gets the first ' +
    'response again, with `idempotent-replayed: true`. What failed is not stored, and a retry runs it again.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
};

const ifMatch: Parameter = {
  name: 'If-Match',
  in: 'header',
  required: true,
  description: 'The ETag of what you read, or `*` for any.',
  schema: { type: 'string' },
};

function headerParameters({ method, isOnceByReference }: AdminEndpoint): Parameter[] {
  if (method === 'get' || isOnceByReference) return [];
  return method === 'patch' ? [ifMatch, idempotencyKey] : [idempotencyKey];
}

type AdminResponse = Readonly<{
  description: string;
  headers: Readonly<Record<string, JsonSchema>>;
  content: Readonly<Record<string, Readonly<{ schema: JsonSchema }>>>;
}>;

function responsesOf(endpoint: AdminEndpoint): Record<string, AdminResponse> {
  const headers = Object.fromEntries(
    [
      'x-service-request-id',
      'x-request-id',
      ...(endpoint.hasTag ? ['etag'] : []),
      ...(endpoint.isFile ? ['x-export-to'] : []),
    ].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
  const success = {
    description: endpoint.summary,
    headers,
    content: endpoint.isFile
      ? {
          'text/csv': { schema: { type: 'string' } },
          'application/x-ndjson': { schema: referenceTo(endpoint.response) },
        }
      : { 'application/json': { schema: referenceTo(endpoint.response) } },
  };
  const failures = [...adminStatusesOf(endpoint)].map(([status, codes]) => [
    `${status}`,
    {
      description: codes.map((code) => `\`${code}\``).join(', '),
      headers: {},
      content: { 'application/json': { schema: referenceTo(errorSchema) } },
    },
  ]);
  return Object.fromEntries([[`${endpoint.status}`, success], ...failures]) as Record<string, AdminResponse>;
}

/** The error codes of an endpoint by status. */
export function adminStatusesOf({
  errors,
}: Pick<AdminEndpoint, 'errors'>): Map<number, [ErrorCode, ...ErrorCode[]]> {
  const statuses = new Map<number, [ErrorCode, ...ErrorCode[]]>();
  for (const code of errors) {
    const status = errorTable[code].status ?? 500;
    const codes = statuses.get(status);
    if (codes) codes.push(code);
    else statuses.set(status, [code]);
  }
  return new Map([...statuses].toSorted(([a], [b]) => a - b));
}
