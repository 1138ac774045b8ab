import { usageListSchema } from '../schemas/usage.ts';
import { commonErrors, type Endpoint } from './endpoint.ts';

const amounts = { requests: 1, input_tokens: 11, output_tokens: 4, total_tokens: 15, cost: 0.0000115 };

export const listUsage: Endpoint = {
  method: 'get',
  path: '/v1/usage',
  operationId: 'listUsage',
  tag: 'Usage',
  summary: 'List usage',
  description:
    'The latest billed requests of the account, whichever of its keys made them, newest first. The totals sum up the rows ' +
    'of the answer only.',
  parameters: [
    {
      name: 'limit',
      in: 'query',
      required: false,
      description: 'How many to return. An integer below 1 counts as 1, one above 500 as 500.',
      schema: { type: 'integer', default: 50 },
    },
  ],
  body: null,
  answer: {
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
