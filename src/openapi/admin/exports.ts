/** The exports, as the document shows them: a schema for the lines of each. */
import { z } from 'zod';
import { exportFormats } from '../../admin/exports.ts';
import { queryParameter } from '../endpoints/endpoint.ts';
import { count, exactUsd, requestId, timestamp, uuid } from '../schemas/fields.ts';
import { type AdminEndpoint, exporting } from './endpoint.ts';

const signedUsd = z.string().regex(/^-?\d+\.\d{12}$/);
const place = z
  .string()
  .regex(/^[0-9a-f-]{36}:\d+$/)
  .describe('The account, a colon and the number. The cursor of the line.');

const generationLine = z
  .strictObject({
    request_id: requestId.describe('The cursor of the line.'),
    created_at: timestamp,
    completed_at: timestamp.nullable().describe('Null while it is in progress.'),
    account_id: uuid,
    account_name: z.string(),
    key_id: uuid,
    key_name: z.string(),
    workload: z.string(),
    model: z.string(),
    status: z.enum(['in_progress', 'completed', 'failed', 'cancelled']),
    provider: z.string(),
    input_tokens: count.nullable(),
    output_tokens: count.nullable(),
    units: count.nullable(),
    unit: z.string().nullable(),
    cost_usd: exactUsd.nullable(),
    latency_ms: count,
    end_user: z.string().nullable(),
    session: z.string().nullable(),
    tags: z.record(z.string(), z.string()).nullable(),
    cache_read_tokens: count.nullable(),
    cache_write_tokens: count.nullable(),
    cost_input_usd: exactUsd.nullable(),
    cost_output_usd: exactUsd.nullable(),
    streaming: z.boolean(),
    fallback: z.boolean(),
    time_to_first_token_ms: count.nullable(),
    error_code: z.string().nullable(),
  })
  .meta({ id: 'AdminExportedGeneration', description: 'A line of an export of Generations.' });

const ofEntry = {
  id: place,
  created_at: timestamp.describe('When it was booked.'),
  account_id: uuid,
  account_name: z.string(),
  number: count,
};

const usageLine = z
  .strictObject({
    ...ofEntry,
    request_id: requestId,
    key_id: uuid,
    key_name: z.string(),
    model: z.string(),
    input_tokens: count,
    output_tokens: count,
    units: count,
    unit: z.string(),
    tier: z.string().nullable(),
    cache_read_tokens: count.nullable(),
    cache_write_tokens: count.nullable(),
    cost_usd: exactUsd.describe('What was charged.'),
    refunded_usd: exactUsd.describe('What was given back of it until now.'),
    is_estimated: z.boolean(),
    billed_at: timestamp.describe('When the request ended.'),
    provider: z.string().nullable(),
    provider_cost_usd: exactUsd.nullable().describe('What the provider asks; null when that is unknown.'),
  })
  .meta({ id: 'AdminExportedUsage', description: 'A line of an export of usage: one charge.' });

const entryLine = z
  .strictObject({
    ...ofEntry,
    kind: z.enum(['credit', 'charge', 'refund', 'correction', 'expiry', 'void']),
    amount_usd: signedUsd,
    balance_after_usd: exactUsd,
    request_id: requestId.nullable().describe('The request that it is for, or about.'),
    concerns_entry: count.nullable().describe('The number of the entry that a correction is about.'),
    is_estimated: z.boolean(),
    memo: z.string().nullable(),
    reference: z.string().nullable(),
    actor: z
      .string()
      .nullable()
      .describe('`operator:ID`, `token:ID` or `shell:user@host`; null for the gateway itself.'),
  })
  .meta({ id: 'AdminExportedEntry', description: 'A line of an export of ledger entries.' });

const fields = z.record(z.string(), z.unknown()).nullable();

const changeLine = z
  .strictObject({
    id: uuid.describe('The cursor of the line.'),
    created_at: timestamp,
    action: z.string(),
    door: z.enum(['dashboard', 'api', 'cli']),
    actor_type: z.enum(['user', 'token', 'shell']),
    actor_id: uuid.nullable(),
    actor_name: z.string(),
    address: z.string().nullable(),
    account_id: uuid.nullable(),
    account_name: z.string().nullable(),
    object_type: z.string().nullable(),
    object_id: z.string().nullable(),
    object_name: z.string().nullable(),
    before: fields,
    after: fields,
  })
  .meta({ id: 'AdminExportedChange', description: 'A line of an export of the audit log.' });

const time = (name: string, description: string) =>
  queryParameter(name, description, { type: 'string' }, '2026-11-01');

const query = [
  queryParameter(
    'account',
    'Only of this account: its ID, or `external_id:` and its ID in your own system. Otherwise of all accounts.',
    { type: 'string' },
  ),
  { ...time('from', 'A day, or a time with its offset. Included.'), required: true },
  time('to', 'The same; not included. A minute ago, if it is left out or later.'),
  queryParameter('format', 'Comma-separated values, or a JSON object per line.', {
    type: 'string',
    enum: [...exportFormats],
    default: 'csv',
  }),
  queryParameter(
    'after',
    'The first column of the last whole line that you have: the export goes on with the next line, without a header.',
    { type: 'string' },
  ),
];

const description =
  'A stream of lines, the oldest first. It is complete only if it ends as HTTP says it should: a gateway that stops, or an error, ' +
  'breaks the connection, and `after` goes on from there. `x-export-to` is the end of the range.';

export const exportEndpoints: readonly AdminEndpoint[] = [
  exporting({
    path: '/exports/generations',
    operationId: 'exportGenerations',
    summary: 'Export Generations',
    description: `By the time at which they began. ${description}`,
    query,
    response: generationLine,
    errors: ['generation_lookup_failed'],
  }),
  exporting({
    path: '/exports/usage',
    operationId: 'exportUsage',
    summary: 'Export usage',
    description: `Every charge with its tokens, its cost and what was refunded of it, by account and number of its ledger entry. ${description}`,
    query,
    response: usageLine,
    errors: ['usage_lookup_failed'],
  }),
  exporting({
    path: '/exports/entries',
    operationId: 'exportEntries',
    summary: 'Export ledger entries',
    description: `By account and number. ${description}`,
    query,
    response: entryLine,
    errors: ['balance_lookup_failed'],
  }),
  exporting({
    path: '/exports/audit_log',
    operationId: 'exportAuditLog',
    summary: 'Export the audit log',
    description,
    query,
    response: changeLine,
  }),
];
