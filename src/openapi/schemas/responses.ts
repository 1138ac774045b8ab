/** The responses of POST /v1/responses, non-streamed and streamed, and of the endpoint that counts tokens. */
import { z } from 'zod';
import { count, exactUsd } from './fields.ts';

const usage = z
  .looseObject({
    input_tokens: count.describe('Those of a cache included.'),
    input_tokens_details: z.looseObject({
      cached_tokens: count.describe('Read from a cache of the provider.'),
      cache_write_tokens: count.describe('Written to one.'),
    }),
    output_tokens: count.describe('Reasoning included.'),
    output_tokens_details: z.looseObject({ reasoning_tokens: count }),
    total_tokens: count,
    cost: exactUsd.describe('What was charged, in USD. OpenAI has no such field.'),
  })
  .meta({ id: 'ResponseUsage', description: 'The tokens that are billed, and what they cost.' });

const item = z
  .looseObject({
    id: z.string().min(1).optional().describe('The same wherever the item occurs.'),
    type: z.string().describe('`message`, `function_call`, `custom_tool_call` or `reasoning`.'),
  })
  .meta({ id: 'ResponseItem', description: 'Something that the model wrote, to be sent back as it is.' });

const failure = z
  .looseObject({
    code: z.string().describe('One of OpenAI’s codes, by which clients decide whether to try again.'),
    message: z.string(),
    type: z.string().optional(),
    gateway_code: z.string().optional().describe('The code in the table of errors.'),
  })
  .meta({ id: 'ResponseFailure', description: 'Why a streamed response failed.' });

export const modelResponseSchema = z
  .looseObject({
    id: z
      .string()
      .regex(/^resp_[0-9a-f]{32}$/)
      .describe('The request ID, with another prefix.'),
    object: z.literal('response'),
    created_at: count.describe('Unix seconds.'),
    completed_at: count.nullable().optional().describe('Unix seconds, once it is completed.'),
    status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
    error: failure.nullable(),
    incomplete_details: z.looseObject({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
    model: z.string(),
    output: z.array(item),
    usage: usage.nullable().describe('Null until the response is completed or incomplete.'),
    store: z.literal(false).describe('Nothing is stored.'),
  })
  .meta({
    id: 'ModelResponse',
    description:
      'A response. Its other fields repeat the request with the values that were in effect. A non-streamed one is sent only ' +
      'once its charge is committed.',
  });

export const responseEventSchema = z
  .looseObject({
    type: z
      .string()
      .regex(/^(?!error$)[\w.]{1,100}$/)
      .describe('The name of the event, as in its `event:` line.'),
    sequence_number: count.describe('0 for the first event, then one more for each.'),
    response: modelResponseSchema
      .optional()
      .describe('In `response.created`, `in_progress`, `completed`, `incomplete` and `failed`.'),
    output_index: count.optional().describe('The place of an item in `output`.'),
    item_id: z.string().optional(),
    item: item.optional().describe('In `response.output_item.added` and `done`.'),
    delta: z.string().optional().describe('The next piece of a text, of arguments or of a summary.'),
  })
  .meta({ id: 'ResponseEvent', description: 'The data of one event of a stream.' });

export const inputTokensSchema = z
  .strictObject({
    object: z.literal('response.input_tokens'),
    input_tokens: count.describe('An estimate: the provider that serves the request counts exactly.'),
  })
  .meta({ id: 'InputTokens', description: 'How many input tokens a request has.' });
