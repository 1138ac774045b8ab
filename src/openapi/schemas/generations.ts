/** The responses of GET /v1/generations and GET /v1/generations/{request_id}. */
import { z } from 'zod';
import { generationStatuses } from '../../generations/generation-store.ts';
import { workloads } from '../../models/model.ts';
import { anyErrorCode, count, exactUsd, requestId, timestamp } from './fields.ts';

export const generationStatus = z.enum(generationStatuses);

const usage = z
  .strictObject({
    input_tokens: count,
    output_tokens: count,
    total_tokens: count,
    units: z.string().regex(/^\d+$/).describe('How many of `unit` were billed.'),
    unit: z.enum(['tokens', 'images']),
    cache_read_tokens: count
      .optional()
      .describe('The part of the input that the provider read from a cache. Absent when there was none.'),
    cache_write_tokens: count
      .optional()
      .describe('The part of the input that the provider wrote to a cache. Absent when there was none.'),
  })
  .meta({ id: 'GenerationUsage', description: 'What was used. Images may have no tokens.' });

const cost = z
  .strictObject({ input: exactUsd, output: exactUsd, total: exactUsd, currency: z.literal('USD') })
  .meta({
    id: 'GenerationCost',
    description: 'What was charged, as decimal text with 12 digits. It never changes with later prices.',
  });

const attempt = z
  .strictObject({
    index: z.int().min(1),
    provider: z.string(),
    status: z.enum(['in_progress', 'succeeded', 'failed', 'cancelled']),
    started_at: timestamp,
    completed_at: timestamp.nullable(),
    latency_ms: count.nullable(),
    upstream_status: z.int().nullable().describe('The HTTP status of the provider; null when it sent none.'),
    error: anyErrorCode.nullable().describe('Why the attempt failed, in the codes of this gateway.'),
  })
  .meta({ id: 'ProviderAttempt', description: 'One call to one provider.' });

const attribution = z
  .strictObject({
    end_user: z.string().nullable(),
    session: z.string().nullable(),
    tags: z.record(z.string(), z.string()),
  })
  .meta({ id: 'GenerationAttribution', description: 'Whom the request was for, as it said itself.' });

export const generationSummaryFields = {
  id: requestId.describe('The request ID of the inference request.'),
  object: z.literal('generation'),
  created_at: timestamp,
  status: generationStatus,
  workload: z.enum(workloads),
  model: z.string(),
  provider: z.string().describe('The provider that served the request, or was meant to.'),
  latency_ms: count,
  usage: usage.nullable().describe('Null when it is unknown, which is not zero.'),
  cost: cost.nullable().describe('Null when nothing was charged.'),
  fallback: z.boolean().describe('Whether another provider took over.'),
  completed_at: timestamp.nullable(),
  attribution: attribution.optional().describe('Absent when the request did not say whom it was for.'),
};

const summary = z.strictObject(generationSummaryFields).meta({
  id: 'GenerationSummary',
  description: 'The outcome of one inference request, in short.',
});

export const generationListSchema = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(summary).describe('Newest first.'),
    has_more: z.boolean(),
    next_cursor: z.string().min(1).nullable().describe('For the next page; null on the last one.'),
  })
  .meta({ id: 'GenerationList', description: 'A page of Generations of this key.' });

export const generationSchema = z
  .strictObject({
    ...generationSummaryFields,
    streaming: z.boolean(),
    time_to_first_token_ms: count.nullable(),
    tokens_per_second: z.number().min(0).nullable(),
    routing: z
      .strictObject({ selected_provider: z.string(), fallback: z.boolean(), attempt_count: count })
      .nullable()
      .describe('Null when no provider was called, and for older records.'),
    attempts: z
      .array(attempt)
      .describe('In order; empty when no provider was called, and for older records.'),
    error: z
      .strictObject({ type: z.string(), code: anyErrorCode, message: z.string() })
      .nullable()
      .describe('Why the request failed. The lookup itself succeeded.'),
  })
  .meta({
    id: 'Generation',
    description: 'The outcome of one inference request. It never contains prompts or output.',
  });
