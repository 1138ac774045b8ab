/** An endpoint of the admin API as the document shows it. */
import type { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import type { Scope } from '../../tokens/token-store.ts';
import { type Parameter, queryParameter } from '../endpoints/endpoint.ts';

export type AdminEndpoint = Readonly<{
  method: 'get' | 'post' | 'patch' | 'delete';
  /** Below /admin/v1. */
  path: string;
  operationId: string;
  scope: Scope | null;
  summary: string;
  description: string;
  query: readonly Parameter[];
  /** Null for what has no parameters. `example` is a body that works. */
  body: Readonly<{ schema: z.core.$ZodType; example: unknown }> | null;
  status: 200 | 201;
  response: z.core.$ZodType;
  /** Whether the response is a file, and its schema that of a line. */
  isFile: boolean;
  /** Whether the response has an ETag. */
  hasTag: boolean;
  /** Whether a reference in its body takes the place of an Idempotency-Key. */
  isOnceByReference: boolean;
  errors: readonly ErrorCode[];
}>;

type Given = Pick<AdminEndpoint, 'path' | 'operationId' | 'scope' | 'summary' | 'response'> &
  Partial<AdminEndpoint>;

const none = {
  description: '',
  query: [],
  body: null,
  status: 200,
  isFile: false,
  hasTag: false,
  isOnceByReference: false,
} as const;

/** Of every endpoint: its token, its query, its rate, the gateway. */
const common: readonly ErrorCode[] = [
  'invalid_request',
  'unsupported_parameter',
  'invalid_parameter',
  'invalid_admin_token',
  'expired_admin_token',
  'address_not_allowed',
  'insufficient_scope',
  'rate_limit_exceeded',
  'internal_error',
  'server_overloaded',
];
const ofBodies: readonly ErrorCode[] = ['invalid_json', 'missing_required_parameter'];

export function reading(given: Given): AdminEndpoint {
  return { method: 'get', ...none, ...given, errors: errorsOf(given, common) };
}

export function exporting(given: Omit<Given, 'scope'>): AdminEndpoint {
  const errors: readonly ErrorCode[] = [...(given.errors ?? []), 'invalid_cursor', 'account_not_found'];
  return { ...reading({ ...given, scope: 'read', errors }), isFile: true };
}

export function posting(given: Given): AdminEndpoint {
  return { method: 'post', ...none, ...given, errors: errorsOf(given, [...common, ...ofBodies]) };
}

export function patching(given: Given): AdminEndpoint {
  const errors = errorsOf(given, [...common, ...ofBodies, 'precondition_failed', 'precondition_required']);
  return { method: 'patch', ...none, hasTag: true, ...given, errors };
}

export function deleting(given: Given): AdminEndpoint {
  return { method: 'delete', ...none, ...given, errors: errorsOf(given, [...common, ...ofBodies]) };
}

function errorsOf({ path, errors = [] }: Given, usual: readonly ErrorCode[]): ErrorCode[] {
  const ofAccount: ErrorCode[] = path.includes('{account}') ? ['account_not_found'] : [];
  return [...new Set([...usual, ...ofAccount, ...errors])];
}

export const page: readonly Parameter[] = [
  queryParameter('limit', 'How many, at most 100.', {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 20,
  }),
  queryParameter('cursor', '`next_cursor` of the page before. It is valid for a day.', { type: 'string' }),
];

export const ofAccount = queryParameter('account', 'Only of the account with this ID.', {
  type: 'string',
  format: 'uuid',
});
