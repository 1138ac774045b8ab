/**
 * The body of POST /v1/chat/completions on the wire. Each message in here completes the sentence "expected …". Rules
 * about several fields are checked in parse.ts.
 */
import { z } from 'zod';
import { listOf } from '../../json/list.ts';
import {
  flagOrNull,
  imageUrl,
  isImageUrl,
  isObject,
  jsonObject,
  nameText,
  nonEmptyText,
  text,
  wholeNumber,
} from '../wire-fields.ts';

const flag = z.boolean('true or false');
const functionType = z.literal('function', '"function"');

/** An object with exactly these fields. */
function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, `an object with the fields ${Object.keys(shape).join(', ')}`);
}

/** For objects distinguished by one of their fields: what that field may hold, unless there is no object at all. */
function kind(expected: string) {
  return ({ input }: Readonly<{ input?: unknown }>) => (isObject(input) ? expected : 'an object');
}

const contentPart = z.discriminatedUnion(
  'type',
  [
    fields({ type: z.literal('text'), text }),
    fields({
      type: z.literal('image_url'),
      image_url: fields({
        url: z.string(imageUrl).refine(isImageUrl, imageUrl),
        detail: z.enum(['auto', 'low', 'high'], '"auto", "low" or "high"').optional(),
      }),
    }),
  ],
  { error: kind('"text" or "image_url"') },
);

/** For a field that SDKs add to what they return. Null means absent; anything else is unsupported. */
const absent = z.null().optional();

const toolCall = fields({
  id: nonEmptyText(),
  type: functionType,
  // SDKs leave it in calls that they assemble from a stream. The order of the calls says the same, so it is dropped.
  index: wholeNumber(0, 'an integer from 0 on, or null').nullish(),
  function: fields({
    name: nonEmptyText(),
    arguments: text,
    // Helpers such as `parse` add it to what the model sent. It says nothing that the arguments do not, and is dropped.
    parsed_arguments: z.unknown().optional(),
  }),
});

/** Fields that a client may send back as its SDK returned them, in a message of any role. */
const sdkFields = {
  refusal: absent,
  annotations: absent,
  audio: absent,
  function_call: absent,
  parsed: absent,
};

const userContent = 'a string or a non-empty array of content parts';

const message = z.discriminatedUnion(
  'role',
  [
    fields({ role: z.literal('system'), content: text, name: absent, tool_calls: absent, ...sdkFields }),
    fields({
      role: z.literal('user'),
      content: z.union([text, listOf(contentPart, userContent, { min: 1 })], userContent),
      name: absent,
      tool_calls: absent,
      ...sdkFields,
    }),
    fields({
      role: z.literal('assistant'),
      content: z.string('a string or null').nullish(),
      tool_calls: z.nullish(listOf(toolCall, 'a non-empty array of tool calls, or null', { min: 1 })),
      name: absent,
      ...sdkFields,
    }),
    fields({
      role: z.literal('tool'),
      tool_call_id: nonEmptyText(),
      content: text,
      name: z.string('a string or null').nullish(),
      tool_calls: absent,
      ...sdkFields,
    }),
  ],
  { error: kind('"system", "user", "assistant" or "tool"') },
);

const tool = fields({
  type: functionType,
  function: fields({
    name: nameText(),
    description: text.optional(),
    parameters: jsonObject.optional(),
    strict: flagOrNull,
  }),
});

const toolChoice = z.union(
  [z.enum(['auto', 'none']), fields({ type: functionType, function: fields({ name: nonEmptyText() }) })],
  '"auto", "none" or {"type": "function", "function": {"name": …}}',
);

const responseFormat = z.discriminatedUnion(
  'type',
  [
    fields({ type: z.literal('text') }),
    fields({ type: z.literal('json_object') }),
    fields({
      type: z.literal('json_schema'),
      json_schema: fields({
        name: nameText(),
        description: text.optional(),
        schema: jsonObject.optional(),
        strict: flagOrNull,
      }),
    }),
  ],
  { error: kind('"text", "json_object" or "json_schema"') },
);

const temperature = 'a number from 0 to below 2, or null';
const topP = 'a number above 0 and up to 1, or null';
const presencePenalty = 'a number from -2 to 2, or null';
const stop = 'a non-empty string, an array of 1 to 4 of them, or null';

export const chatRequestSchema = z.strictObject(
  {
    model: nonEmptyText('the ID of a model'),
    messages: listOf(message, 'a non-empty array of messages', { min: 1 }),
    stream: flag.optional(),
    temperature: z.number(temperature).min(0, temperature).lt(2, temperature).nullish(),
    max_tokens: wholeNumber(1, 'a positive integer up to 2147483647, or null').nullish(),
    top_p: z.number(topP).gt(0, topP).max(1, topP).nullish(),
    stop: z.union([nonEmptyText(stop), listOf(nonEmptyText(), stop, { min: 1, max: 4 })], stop).nullish(),
    presence_penalty: z.number(presencePenalty).min(-2, presencePenalty).max(2, presencePenalty).nullish(),
    tools: z.optional(listOf(tool, 'an array of function tools')),
    tool_choice: toolChoice.optional(),
    parallel_tool_calls: flag.optional(),
    response_format: responseFormat.optional(),
    seed: wholeNumber(0, 'an integer from 0 to 2147483647, or null').nullish(),
    stream_options: fields({ include_usage: flag.optional() }).nullish(),
  },
  'a JSON object',
);

export type WireChatRequest = z.output<typeof chatRequestSchema>;
export type WireMessage = z.output<typeof message>;
export type WireContentPart = z.output<typeof contentPart>;
