/** The responses of POST /v1/chat/completions, non-streamed and streamed. */
import { z } from 'zod';
import { count, requestId } from './fields.ts';

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter']);

const usage = z
  .strictObject({
    prompt_tokens: count,
    completion_tokens: count.describe('Reasoning included.'),
    total_tokens: count,
    prompt_tokens_details: z
      .strictObject({
        cached_tokens: count.describe('Read from a cache of the provider.'),
        cache_write_tokens: count.optional().describe('Written to one. Absent when nothing was.'),
      })
      .optional()
      .describe('Parts of the prompt. Absent when no cache was involved.'),
    completion_tokens_details: z
      .strictObject({ reasoning_tokens: count })
      .optional()
      .describe('Parts of the completion. Absent when the provider reported no reasoning.'),
  })
  .meta({ id: 'CompletionUsage', description: 'The tokens that are billed.' });

const toolCall = z
  .strictObject({
    id: z.string().min(1).describe('To be sent back with the result, unchanged.'),
    type: z.literal('function'),
    function: z.strictObject({
      name: z.string(),
      arguments: z.string().describe('Text that holds JSON. The model wrote it: check it before use.'),
    }),
  })
  .meta({ id: 'ToolCall', description: 'A function that the model asks the client to run.' });

const message = z.strictObject({
  role: z.literal('assistant'),
  content: z.string().nullable().describe('Null when the model calls tools.'),
  tool_calls: z.array(toolCall).min(1).optional(),
});

export const chatCompletionSchema = z
  .strictObject({
    id: requestId.describe('The request ID, which is also the ID of the Generation.'),
    object: z.literal('chat.completion'),
    created: count.describe('Unix seconds.'),
    model: z.string(),
    choices: z
      .array(z.strictObject({ index: z.literal(0), finish_reason: finishReason, message }))
      .length(1)
      .describe('Always one.'),
    usage,
  })
  .meta({
    id: 'ChatCompletion',
    description: 'A non-streamed response. It is sent only once its charge is committed.',
  });

const toolCallPiece = z
  .strictObject({
    index: count.describe('Which call this piece belongs to.'),
    id: z.string().min(1).optional().describe('In the first piece of a call only.'),
    type: z.literal('function').optional().describe('In the first piece of a call only.'),
    function: z.strictObject({
      name: z.string().optional().describe('In the first piece of a call only.'),
      arguments: z.string().describe('The next piece; empty in the first one.'),
    }),
  })
  .meta({ id: 'ToolCallPiece', description: 'A piece of a call. Join the arguments of each index.' });

const delta = z.strictObject({
  role: z.literal('assistant').optional().describe('In the first chunk only.'),
  content: z.string().nullable().optional(),
  tool_calls: z.array(toolCallPiece).optional(),
});

export const chatChunkSchema = z
  .strictObject({
    id: requestId.describe('The same in all chunks: the request ID.'),
    object: z.literal('chat.completion.chunk'),
    created: count.describe('Unix seconds.'),
    model: z.string(),
    choices: z
      .array(
        z.strictObject({
          index: z.literal(0),
          delta,
          finish_reason: finishReason.nullable().describe('Null until the last chunk with content.'),
        }),
      )
      .max(1)
      .describe('One, or none in the chunk that holds `usage`.'),
    usage: usage
      .optional()
      .describe('In one more chunk before the end, if `stream_options.include_usage` asks for it.'),
  })
  .meta({ id: 'ChatCompletionChunk', description: 'The data of one event of a stream.' });
