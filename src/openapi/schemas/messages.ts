/**
 * The responses of POST /v1/messages, non-streamed and streamed. Fields that are not listed may be there: those of a
 * provider that speaks the same format are passed on.
 */
import { z } from 'zod';
import { apiErrorCodes, type ErrorCode, errorTable } from '../../errors.ts';
import { count, requestId } from './fields.ts';

const decimal = z.string().regex(/^\d+\.\d{12}$/);

const usage = z
  .looseObject({
    input_tokens: count.describe('Without those that a cache was involved in.'),
    cache_creation_input_tokens: count.optional().describe('Written to a cache of the provider.'),
    cache_read_input_tokens: count.optional().describe('Read from one.'),
    output_tokens: count.describe('Thinking included.'),
    cost: decimal.optional().describe('What is charged, in USD. In the last report only.'),
  })
  .meta({ id: 'MessageUsage', description: 'The tokens that are billed, and what they cost.' });

const block = z
  .looseObject({
    type: z.string().describe('`text`, `tool_use`, `thinking` or `redacted_thinking`.'),
    text: z.string().optional(),
    id: z.string().optional().describe('Of a `tool_use`: to be sent back with the result, unchanged.'),
    name: z.string().optional(),
    input: z.looseObject({}).optional().describe('The model wrote it: check it before use.'),
    thinking: z.string().optional(),
    signature: z.string().optional().describe('To be sent back with the thinking, unchanged.'),
  })
  .meta({ id: 'MessageBlock', description: 'A piece of an answer.' });

const fields = {
  id: requestId.describe('The request ID, which is also the ID of the Generation.'),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(block).describe('Text and calls, in the order in which the model wrote them.'),
  stop_reason: z
    .string()
    .nullable()
    .describe('`end_turn`, `max_tokens`, `tool_use`, `stop_sequence`, `refusal` and others.'),
  stop_sequence: z.string().nullable(),
  usage,
};

export const messageSchema = z.looseObject(fields).meta({
  id: 'Message',
  description: 'A non-streamed response. It is sent only once its charge is committed.',
});

export const messageEventSchema = z
  .looseObject({
    type: z
      .string()
      .regex(/^(?!error$)\w{1,40}$/)
      .describe(
        'Also the name of the event: `message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop` or `ping`. A provider that speaks this format may add others.',
      ),
    message: z.looseObject(fields).optional(),
    index: count.optional().describe('Of the content block.'),
    content_block: block.optional(),
    delta: z.looseObject({}).optional(),
    usage: usage.optional(),
  })
  .meta({ id: 'MessageEvent', description: 'The data of one event of a stream.' });

export const tokenCountSchema = z
  .strictObject({ input_tokens: count })
  .meta({ id: 'TokenCount', description: 'How many input tokens a request would have, roughly.' });

type ErrorCodes = readonly [ErrorCode, ...ErrorCode[]];

export function messagesErrorSchema(codes: ErrorCodes) {
  return z.strictObject({
    type: z.literal('error'),
    error: z.strictObject({
      type: z.string().describe('As in Anthropic’s API, by the status.'),
      message: z.string().min(1).describe('For people; it may change.'),
      code: z.enum(codes),
      param: z.string().nullable().describe('The parameter that caused the error, where there is one.'),
    }),
    request_id: requestId,
  });
}

const publicCodes = apiErrorCodes.filter(
  (code) => errorTable[code].status !== null || errorTable[code].inBand,
) as [ErrorCode, ...ErrorCode[]];

export const anyMessagesErrorSchema = messagesErrorSchema(publicCodes).meta({
  id: 'MessagesError',
  description:
    'The body of every error of these endpoints, and the data of the event that ends a failed stream.',
});
