/**
 * The body of POST /v1/chat/completions on the wire. Each message in here completes the sentence "expected …". Rules
 * about several fields are checked in parse.ts.
 */
import { z } from 'zod';
import { listOf } from '../../json/list.ts';
import type { JsonObject } from '../../providers/chat.ts';

const functionName = 'a name of 1 to 64 letters, digits, underscores or dashes';

const text = z.string('a string');
const flag = z.boolean('true or false');
const flagOrNull = z.boolean('true, false or null').nullish();
const functionType = z.literal('function', '"function"');

function nonEmptyText(expected = 'a non-empty string') {
  return z.string(expected).min(1, expected);
}

function nameText() {
  return z.string(functionName).regex(/^[a-zA-Z0-9_-]{1,64}$/, functionName);
}

function wholeNumber(min: number, expected: string) {
  return z.int(expected).min(min, expected).max(2_147_483_647, expected);
}

/** An object with exactly these fields. */
function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, `an object with the fields ${Object.keys(shape).join(', ')}`);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** For objects distinguished by one of their fields: what that field may hold, unless there is no object at all. */
function kind(expected: string) {
  return ({ input }: Readonly<{ input?: unknown }>) => (isObject(input) ? expected : 'an object');
}

/**
 * A client's JSON Schema is data: it is neither read nor copied, so its names can do no harm. A record would copy it,
 * and lose `__proto__`.
 */
const jsonSchema = z
  .unknown()
  .refine(isObject, 'an object')
  .meta({ type: 'object' }) as unknown as z.ZodType<JsonObject>;

/** The length that browsers and servers agree on. The URL parser takes minutes for a host of 20 MB. */
const maxUrl = 8_192;
const imageUrl = `an https:// URL of up to ${maxUrl} characters without credentials, or data:image/…;base64,…`;
const dataUrlHead = /^data:image\/[a-z0-9.+-]{1,64};base64,/i;

/** Only the head of a data URL is looked at: the rest can be megabytes, and only the provider decodes it. */
export function isImageUrl(url: string): boolean {
  const head = dataUrlHead.exec(url.slice(0, 100));
  if (head !== null) return url.length > head[0].length;
  // The URL parser would drop spaces and line breaks, and so check a different text than the one that is passed on.
  if (url.length > maxUrl || !/^https:\/\//i.test(url) || /[\s\p{Cc}]/u.test(url)) return false;
  const parsed = URL.parse(url);
  return parsed !== null && parsed.username === '' && parsed.password === '';
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
    parameters: jsonSchema.optional(),
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
        schema: jsonSchema.optional(),
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
