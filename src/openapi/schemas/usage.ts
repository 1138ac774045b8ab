/** What GET /v1/usage answers. */
import { z } from 'zod';
import { count, timestamp, usdNumber, uuid } from './fields.ts';

const amounts = {
  requests: count,
  input_tokens: count,
  output_tokens: count,
  total_tokens: count,
  cost: usdNumber.describe('USD.'),
};

const record = z
  .strictObject({ id: uuid, date: timestamp, model: z.string(), ...amounts })
  .meta({ id: 'UsageRecord', description: 'One billed request.' });

export const usageListSchema = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(record).describe('Newest first.'),
    totals: z
      .strictObject(amounts)
      .meta({ id: 'UsageTotals', description: 'Sums of the rows in this answer, not of the account.' }),
  })
  .meta({ id: 'UsageList', description: 'The latest usage of the account.' });
