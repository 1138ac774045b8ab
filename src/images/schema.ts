/**
 * The body of POST /v1/images/generations on the wire. Each message in here completes the sentence "expected …". Limits
 * of the model, such as its sizes, are checked in order.ts.
 */
import { z } from 'zod';

const count = 'an integer from 1 to 4';

function nonEmptyText(expected: string) {
  return z.string(expected).min(1, expected);
}

export const imageRequestSchema = z.strictObject(
  {
    model: nonEmptyText('the ID of a model'),
    prompt: nonEmptyText('a non-empty string'),
    size: z.string('a string of the form WIDTHxHEIGHT').optional(),
    n: z.int(count).min(1, count).max(4, count).optional(),
    response_format: z.literal('url', '"url"').optional(),
  },
  'a JSON object',
);
