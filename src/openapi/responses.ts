/** Success and error responses of an endpoint, with their headers. */
import { ApiError, apiErrorCodes, type ErrorCode, errorTable } from '../errors.ts';
import { presentMessagesError } from '../http/messages-error.ts';
import type { Endpoint, Examples } from './endpoints/endpoint.ts';
import { type JsonSchema, referenceTo, schemaOf } from './json-schema.ts';
import { errorSchema } from './schemas/errors.ts';
import { requestId } from './schemas/fields.ts';
import { anyMessagesErrorSchema } from './schemas/messages.ts';

export type MediaType = Readonly<{ schema: JsonSchema; examples: Examples }>;
export type OpenApiResponse = Readonly<{
  description: string;
  headers: Readonly<Record<string, Readonly<{ $ref: string }>>>;
  content: Readonly<Record<string, MediaType>>;
  'x-errors'?: readonly ErrorRow[];
  /** The data of the events, where the response can be a stream. */
  'x-event-stream'?: MediaType;
}>;

const header = (description: string, schema: JsonSchema, example: unknown) => ({
  description,
  schema,
  example,
});

const exampleId = 'req_0199a3f2c4d57e8a9b0c1d2e3f405162';

export const headerComponents = {
  'x-service-request-id': header('The ID of this request.', schemaOf(requestId), exampleId),
  'x-request-id': header('The same, under the name that SDKs read.', schemaOf(requestId), exampleId),
  'x-ratelimit-limit-requests': header('The key’s requests per minute.', { type: 'integer' }, 600),
  'x-ratelimit-remaining-requests': header('How many more could be sent at once.', { type: 'integer' }, 599),
  'x-ratelimit-reset-requests': header(
    'When all of them are free again.',
    { type: 'string', pattern: '^\\d+(\\.\\d+)?s$' },
    '0.1s',
  ),
  'x-ratelimit-limit-tokens': header(
    'The strictest limit of tokens per minute, where there is one.',
    { type: 'integer' },
    100_000,
  ),
  'x-ratelimit-remaining-tokens': header('How many are left of it.', { type: 'integer' }, 98_000),
  'x-ratelimit-reset-tokens': header(
    'When its next minute begins.',
    { type: 'string', pattern: '^\\d+(\\.\\d+)?s$' },
    '12.5s',
  ),
  'retry-after': header(
    'Seconds to wait before the next attempt, where known.',
    { type: 'integer', minimum: 1 },
    2,
  ),
  'x-should-retry': header(
    '`false` when the same request would fail again, or when you should check the usage first.',
    { type: 'string', const: 'false' },
    'false',
  ),
  'x-service-cost-usd': header(
    'What was charged for this response, exactly. Not in a stream, which begins before its cost is known.',
    { type: 'string', pattern: '^\\d+(\\.\\d{1,12})?$' },
    '0.000035',
  ),
  'idempotent-replayed': header(
    '`true` when this is the stored response to an earlier request with the same Idempotency-Key.',
    { type: 'string', const: 'true' },
    'true',
  ),
  'idempotency-stored': header(
    '`false` when the response to a request with an Idempotency-Key is not stored, because the API key has reached its ' +
      'storage limit. Repeating the request runs it again.',
    { type: 'string', const: 'false' },
    'false',
  ),
};

type HeaderName = keyof typeof headerComponents;

const ids: readonly HeaderName[] = ['x-service-request-id', 'x-request-id'];
const rates: readonly HeaderName[] = [
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
];
const tokenRates: readonly HeaderName[] = [
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
];
/** Statuses of responses for which a key's limits were checked. */
const ratedStatuses: readonly number[] = [200, 402, 403, 429];
const pausedStatuses: readonly number[] = [429, 502];

function headersOf({ isInference }: Endpoint, status: number): OpenApiResponse['headers'] {
  const names: HeaderName[] = [
    ...ids,
    ...(isInference && ratedStatuses.includes(status) ? rates : []),
    ...(isInference && status === 200 ? tokenRates : []),
    ...(status === 503 || (isInference && pausedStatuses.includes(status)) ? ['retry-after' as const] : []),
    ...(status >= 500 ? ['x-should-retry' as const] : []),
    ...(isInference && status === 200 ? ['x-service-cost-usd' as const] : []),
    ...(isInference ? (['idempotent-replayed', 'idempotency-stored'] as const) : []),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

export function responsesOf(endpoint: Endpoint): Readonly<Record<string, OpenApiResponse>> {
  const failures = [...statusesOf(endpoint)].map(([status, codes]) => [
    `${status}`,
    failure(endpoint, status, codes),
  ]);
  return Object.fromEntries([['200', success(endpoint)], ...failures]);
}

/**
 * One content type, so that generated clients have one type for the body: two would make it a union that says nothing about
 * `stream`. The events of a stream are described in an extension.
 */
function success(endpoint: Endpoint): OpenApiResponse {
  const { response, events } = endpoint;
  return {
    description: events === null ? response.description : `${response.description}\n\n${events.description}`,
    headers: headersOf(endpoint, 200),
    content: {
      'application/json': { schema: referenceTo(response.schema), examples: response.examples },
    },
    ...(events === null
      ? {}
      : {
          'x-event-stream': {
            schema: { description: 'The data of one event.', ...referenceTo(events.schema) },
            examples: events.examples,
          },
        }),
  };
}

/** The error codes of an endpoint by status. A code without one occurs only inside streams. */
export function statusesOf({ errors }: Pick<Endpoint, 'errors'>): Map<number, [ErrorCode, ...ErrorCode[]]> {
  const statuses = new Map<number, [ErrorCode, ...ErrorCode[]]>();
  const inOrderOfTable = apiErrorCodes.filter((code) => errors.includes(code));
  for (const code of inOrderOfTable) {
    const { status } = errorTable[code];
    if (status === null) continue;
    const codes = statuses.get(status);
    if (codes) codes.push(code);
    else statuses.set(status, [code]);
  }
  return new Map([...statuses].toSorted(([a], [b]) => a - b));
}

function failure(endpoint: Endpoint, status: number, codes: [ErrorCode, ...ErrorCode[]]): OpenApiResponse {
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    headers: headersOf(endpoint, status),
    content: { 'application/json': bodyOf(endpoint, codes) },
    'x-errors': codes.map(presentRow),
  };
}

function bodyOf({ errorForm }: Endpoint, codes: [ErrorCode, ...ErrorCode[]]): MediaType {
  if (errorForm === undefined) return { schema: narrowed(codes), examples: examplesOf(codes) };
  const error = { properties: { code: { enum: codes } } };
  const examples = codes.map((code) => {
    const value = presentMessagesError(new ApiError(code), exampleId);
    return [code, { summary: errorTable[code].message, value }];
  });
  return {
    schema: { allOf: [referenceTo(anyMessagesErrorSchema), { properties: { error } }] },
    examples: Object.fromEntries(examples) as Examples,
  };
}

/** The standard body, with only these codes. */
function narrowed(codes: readonly ErrorCode[]): JsonSchema {
  const types = [...new Set(codes.map((code) => errorTable[code].type))];
  const error = { properties: { type: { enum: types }, code: { enum: codes } } };
  return { allOf: [referenceTo(errorSchema), { properties: { error } }] };
}

function examplesOf(codes: readonly ErrorCode[]): Examples {
  return Object.fromEntries(
    codes.map((code) => {
      const { message, type } = errorTable[code];
      return [code, { summary: message, value: { error: { message, type, code } } }];
    }),
  );
}

export type ErrorRow = ReturnType<typeof presentRow>;

export function presentRow(code: ErrorCode) {
  const { status, inBand, type, retryable, message } = errorTable[code];
  return { code, status, in_band: inBand, type, retryable, message };
}
