import { z } from 'zod';
import { count, timestamp, usdNumber, uuid } from '../schemas/fields.ts';
import { commonErrors, type Endpoint, queryParameter } from './endpoint.ts';

const amountFields = {
  requests: count,
  input_tokens: count,
  output_tokens: count,
  total_tokens: count,
  cost: usdNumber.describe('USD.'),
};

const record = z
  .strictObject({ id: uuid, date: timestamp, model: z.string(), ...amountFields })
  .meta({ id: 'UsageRecord', description: 'One billed request.' });

const usageListSchema = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(record).describe('Newest first.'),
    totals: z
      .strictObject(amountFields)
      .meta({ id: 'UsageTotals', description: 'Sums of the rows in this response, not of the account.' }),
  })
  .meta({ id: 'UsageList', description: 'The latest usage of the account.' });

const amounts = { requests: 1, input_tokens: 11, output_tokens: 4, total_tokens: 15, cost: 0.0000115 };

export const listUsage: Endpoint = {
  method: 'get',
  path: '/v1/usage',
  operationId: 'listUsage',
  tag: 'Usage',
  summary: 'List usage',
  description:
    'The latest billed requests of the account, whichever of its keys made them, newest first. The totals cover only the ' +
    'rows of the response.',
  parameters: [
    queryParameter('limit', 'How many to return. An integer below 1 counts as 1, one above 500 as 500.', {
      type: 'integer',
      default: 50,
    }),
  ],
  body: null,
  response: {
    description: 'Usage records and their totals.',
    schema: usageListSchema,
    examples: {
      usage: {
        summary: 'One request',
        value: {
          object: 'list',
          data: [
            {
              id: '0199a3f2-c4d5-7e8a-9b0c-1d2e3f405162',
              date: '2026-11-01T09:30:00.937Z',
              model: 'sandbox-chat',
              ...amounts,
            },
          ],
          totals: amounts,
        },
      },
    },
  },
  events: null,
  isInference: false,
  errors: [...commonErrors, 'invalid_parameter', 'usage_lookup_failed', 'usage_cost_lookup_failed'],
};
