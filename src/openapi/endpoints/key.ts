import { z } from 'zod';
import { limitKinds } from '../../ledger/operations.ts';
import { count, exactUsd, quantity, timestamp, uuid } from '../schemas/fields.ts';
import { commonErrors, type Endpoint } from './endpoint.ts';

const keySchema = z
  .strictObject({
    object: z.literal('api_key'),
    id: uuid.describe('The ID of the key, which is not a secret.'),
    name: z.string(),
    created_at: timestamp,
    expires_at: timestamp.nullable().describe('When the key ends; null for never.'),
    allowed_models: z.array(z.string()).nullable().describe('The models it may call; null for every model.'),
    rate: z.strictObject({
      requests_per_minute: count,
      remaining: count.describe('How many requests could be sent at once.'),
      reset_seconds: z.number().min(0).describe('When all of them are free again.'),
    }),
    concurrency: z.strictObject({
      limit: count.describe('How many requests may be in progress at once.'),
      in_progress: count,
    }),
    month: z.strictObject({
      start: z
        .string()
        .regex(/^\d{4}-\d\d-01$/)
        .describe('The first day of the month, in UTC.'),
      limit: exactUsd.nullable().describe('USD; null for no limit.'),
      spent: exactUsd.describe('What this key was charged this month, in USD.'),
      held: exactUsd.describe('What is held for its requests in progress, in USD.'),
      remaining: exactUsd.nullable().describe('What is left of the limit, in USD; null without a limit.'),
    }),
    limits: z
      .array(
        z.strictObject({
          scope: z.enum(['account', 'key', 'each_end_user']),
          kind: z.enum(limitKinds),
          amount: quantity.describe('USD, requests or tokens.'),
          increase: z
            .strictObject({ amount: quantity, until: timestamp })
            .nullable()
            .describe('Added to the amount until then.'),
          used: quantity.nullable().describe('Since the window began. Null for each end user.'),
          held: quantity.nullable().describe('By requests in progress. Null for each end user.'),
          remaining: quantity.nullable().describe('Null for each end user.'),
          resets_at: timestamp.nullable().describe('When the next window begins; null without windows.'),
        }),
      )
      .describe('Limits that its requests count towards, besides those above.'),
    balance: z.strictObject({
      available: exactUsd.describe('What the account has that is not held, for all of its keys together.'),
      currency: z.literal('USD'),
      by_category: z
        .strictObject({ paid: exactUsd, promotional: exactUsd, allowance: exactUsd })
        .describe('What the account has of each kind of credit, with what is held.'),
      expiring: z
        .strictObject({ amount: exactUsd, at: timestamp })
        .nullable()
        .describe('What expires next unless it is spent before, with what is held; null if nothing expires.'),
    }),
  })
  .meta({
    id: 'ApiKeyStatus',
    description: 'What a key may do and has left. It never contains the key itself.',
  });

export const getKey: Endpoint = {
  method: 'get',
  path: '/v1/key',
  operationId: 'getKey',
  tag: 'Keys',
  summary: 'Look up the calling key',
  description:
    'What the key that sends this request may do, and what it has left: limits, spend this month, available balance, ' +
    'expiry, rate. Asking counts towards no limit.',
  parameters: [],
  body: null,
  response: {
    description: 'The key, as of now.',
    schema: keySchema,
    examples: {
      key: {
        summary: 'A key with a monthly limit',
        value: {
          object: 'api_key',
          id: '0199a3f2-c4d5-7e8a-9b0c-1d2e3f405162',
          name: 'Agent',
          created_at: '2026-11-01T09:30:00.125Z',
          expires_at: null,
          allowed_models: ['sandbox-chat'],
          rate: { requests_per_minute: 600, remaining: 599, reset_seconds: 0.1 },
          concurrency: { limit: 200, in_progress: 1 },
          month: {
            start: '2026-11-01',
            limit: '10.000000000000',
            spent: '1.250000000000',
            held: '0.020000000000',
            remaining: '8.730000000000',
          },
          limits: [
            {
              scope: 'account',
              kind: 'spend_per_day',
              amount: '5',
              increase: null,
              used: '1.25',
              held: '0.02',
              remaining: '3.73',
              resets_at: '2026-11-18T00:00:00.000Z',
            },
          ],
          balance: {
            available: '41.500000000000',
            currency: 'USD',
            by_category: {
              paid: '36.520000000000',
              promotional: '5.000000000000',
              allowance: '0.000000000000',
            },
            expiring: { amount: '5.000000000000', at: '2026-12-01T00:00:00.000Z' },
          },
        },
      },
    },
  },
  events: null,
  isInference: false,
  errors: [...commonErrors, 'api_keys_lookup_failed'],
};
