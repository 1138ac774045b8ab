/**
 * The body of POST /v1/responses on the wire, as far as it is read. Unknown fields are left to reading.ts, and
 * the items of lists, whose kinds are many, are checked one by one against the schemas at the end. Each message in here
 * completes the sentence "expected …".
 */
import { z } from 'zod';
import { listOf } from '../../json/list.ts';
import { efforts } from '../../providers/chat.ts';
import {
  flagOrNull,
  imageUrl,
  isImageUrl,
  isObject,
  jsonObject,
  nameText,
  nonEmptyText,
  text,
  textOrNull,
  wholeNumber,
} from '../wire-fields.ts';

/** The length of what identifies something. */
const maxName = 256;
const shortOrNull = z.string('a string or null').max(maxName, `at most ${maxName} characters`).nullish();
/** Means nothing here, and does no harm. */
const ignored = z.unknown().optional();

/** Clients return these unchanged, and a gateway behind this one may have put something into them. */
const maxCallId = 8_192;

function shortText(max: number) {
  const expected = `a string of 1 to ${max} characters`;
  return z.string(expected).min(1, expected).max(max, expected);
}

function numberUpTo(max: number) {
  const expected = `a number from 0 to ${max}, or null`;
  return z.number(expected).min(0, expected).max(max, expected).nullish();
}

function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, `${values.map((value) => `"${value}"`).join(', ')} or null`).nullish();
}

const textFormat = z.object({ type: z.literal('text') });
const jsonFormat = z.object({ type: z.literal('json_object') });
const jsonSchemaFormat = z.object({
  type: z.literal('json_schema'),
  name: nameText(),
  schema: jsonObject,
  description: textOrNull,
  strict: flagOrNull,
});

const objectOrNull = 'an object or null';
const maxMetadata = 16;
const metadataRule = `an object of up to ${maxMetadata} strings of up to 512 characters, with keys of up to 64, or null`;

/** The pairs are few and short, so copying them is cheap. */
function isMetadata(value: unknown): boolean {
  if (value === null) return true;
  if (!isObject(value)) return false;
  const pairs = Object.entries(value);
  return (
    pairs.length <= maxMetadata &&
    pairs.every(([name, given]) => name.length <= 64 && typeof given === 'string' && given.length <= 512)
  );
}

const metadata = z
  .unknown()
  .refine(isMetadata, metadataRule)
  .meta({ type: ['object', 'null'] }) as unknown as z.ZodType<Readonly<Record<string, string>> | null>;

export const responsesRequestSchema = z.object(
  {
    model: nonEmptyText('the ID of a model'),
    input: z.union(
      [text, listOf(jsonObject, 'an array of items', { min: 1 })],
      'a string or a non-empty array of items',
    ),
    instructions: textOrNull,
    stream: flagOrNull,
    stream_options: z.object({ include_obfuscation: flagOrNull }, objectOrNull).nullish(),
    max_output_tokens: wholeNumber(1, 'a positive integer up to 2147483647, or null').nullish(),
    temperature: numberUpTo(2),
    top_p: numberUpTo(1),
    tools: z.nullish(listOf(jsonObject, 'an array of tools, or null')),
    tool_choice: z
      .union(
        [z.enum(['auto', 'none', 'required']), jsonObject],
        '"auto", "none", "required" or an object with a type, such as {"type": "function", "name": …}',
      )
      .nullish(),
    parallel_tool_calls: flagOrNull,
    text: z
      .object(
        {
          format: z
            .discriminatedUnion('type', [textFormat, jsonFormat, jsonSchemaFormat], {
              error: ({ input }) =>
                isObject(input) ? '"text", "json_object" or "json_schema"' : 'an object or null',
            })
            .nullish(),
          verbosity: oneOf(['low', 'medium', 'high']),
        },
        objectOrNull,
      )
      .nullish(),
    reasoning: z
      .object(
        {
          effort: oneOf(efforts),
          summary: oneOf(['auto', 'concise', 'detailed']),
          generate_summary: oneOf(['auto', 'concise', 'detailed']),
          context: oneOf(['auto', 'current_turn', 'all_turns']),
          mode: oneOf(['standard', 'pro']),
        },
        objectOrNull,
      )
      .nullish(),
    include: z.nullish(listOf(text, 'an array of strings, or null', { max: 100 })),
    store: flagOrNull,
    metadata: metadata.optional(),
    prompt_cache_key: shortOrNull,
    safety_identifier: shortOrNull,
    user: shortOrNull,
    service_tier: textOrNull,
    truncation: textOrNull,
    top_logprobs: z.int('an integer or null').nullish(),
    background: flagOrNull,
    client_metadata: ignored,
  },
  'a JSON object',
);

const items = {
  /** Also without its type. */
  message: {
    type: z.literal('message').optional(),
    role: z.enum(
      ['user', 'assistant', 'system', 'developer'],
      '"user", "assistant", "system" or "developer"',
    ),
    content: z.union([text, listOf(jsonObject, 'an array of parts')], 'a string or an array of parts'),
    id: ignored,
    status: ignored,
    phase: ignored,
    internal_chat_message_metadata_passthrough: ignored,
  },
  function_call: {
    type: z.literal('function_call'),
    call_id: shortText(maxCallId),
    name: shortText(maxName),
    arguments: text,
    namespace: shortOrNull,
    id: ignored,
    status: ignored,
    // The SDK's helpers add it to what they return, and it says nothing that the arguments do not.
    parsed_arguments: ignored,
  },
  custom_tool_call: {
    type: z.literal('custom_tool_call'),
    call_id: shortText(maxCallId),
    name: shortText(maxName),
    input: text,
    namespace: shortOrNull,
    id: ignored,
    status: ignored,
  },
  output: {
    type: z.enum(['function_call_output', 'custom_tool_call_output']),
    call_id: shortText(maxCallId),
    output: z.union([text, listOf(jsonObject, 'an array of parts')], 'a string or an array of parts'),
    // Results name their call, which has the name of the function.
    name: ignored,
    id: ignored,
    status: ignored,
  },
  reasoning: {
    type: z.literal('reasoning'),
    summary: z.nullish(
      listOf(
        z.object({ type: z.literal('summary_text', '"summary_text"'), text }, 'an object'),
        'an array of summaries',
      ),
    ),
    encrypted_content: textOrNull,
    content: ignored,
    id: ignored,
    status: ignored,
  },
} as const;

const parts = {
  text: {
    type: z.enum(['input_text', 'output_text']),
    text,
    prompt_cache_breakpoint: ignored,
    annotations: ignored,
    logprobs: ignored,
    parsed: ignored,
  },
  refusal: { type: z.literal('refusal'), refusal: text },
  image: {
    type: z.literal('input_image'),
    image_url: z.string(imageUrl).refine(isImageUrl, imageUrl),
    detail: oneOf(['auto', 'low', 'high', 'original']),
    file_id: z.null('null: files of a provider cannot be named here').optional(),
    prompt_cache_breakpoint: ignored,
  },
} as const;

const description = textOrNull;
const toolName = nameText();

const tools = {
  function: {
    type: z.literal('function'),
    name: toolName,
    description,
    parameters: jsonObject.nullish(),
    strict: flagOrNull,
    // Without a search for tools, all of them are offered at once.
    defer_loading: ignored,
    output_schema: ignored,
  },
  custom: {
    type: z.literal('custom'),
    name: toolName,
    description,
    format: z
      .discriminatedUnion(
        'type',
        [
          z.object({ type: z.literal('text') }),
          z.object({
            type: z.literal('grammar'),
            syntax: z.enum(['lark', 'regex'], '"lark" or "regex"'),
            definition: text,
          }),
        ],
        { error: ({ input }) => (isObject(input) ? '"text" or "grammar"' : 'an object') },
      )
      .nullish(),
    defer_loading: ignored,
  },
  namespace: {
    type: z.literal('namespace'),
    name: shortText(maxName),
    description,
    tools: listOf(jsonObject, 'an array of function and custom tools'),
  },
} as const;

const choices = {
  named: {
    type: z.enum(['function', 'custom']),
    name: shortText(maxName),
    namespace: shortOrNull,
  },
  allowed_tools: {
    type: z.literal('allowed_tools'),
    mode: z.enum(['auto', 'required'], '"auto" or "required"'),
    tools: listOf(jsonObject, 'a non-empty array of tools', { min: 1 }),
  },
} as const;

/** A schema, compiled, because a body can have thousands of items, and the names that it knows. */
export type Kind<Value> = Readonly<{
  schema: Readonly<{ safeParse: (value: unknown) => z.ZodSafeParseResult<Value> }>;
  names: ReadonlySet<string>;
}>;

function kindOf<Shape extends z.core.$ZodLooseShape>(shape: Shape): Kind<z.output<z.ZodObject<Shape>>> {
  const schema = z.compile(z.object(shape, 'an object'), { strict: true });
  return { schema, names: new Set(Object.keys(shape)) };
}

export const itemKinds = {
  message: kindOf(items.message),
  function_call: kindOf(items.function_call),
  custom_tool_call: kindOf(items.custom_tool_call),
  output: kindOf(items.output),
  reasoning: kindOf(items.reasoning),
};

export const partKinds = {
  text: kindOf(parts.text),
  refusal: kindOf(parts.refusal),
  image: kindOf(parts.image),
};

export const toolKinds = {
  function: kindOf(tools.function),
  custom: kindOf(tools.custom),
  namespace: kindOf(tools.namespace),
};

export const choiceKinds = { named: kindOf(choices.named), allowed: kindOf(choices.allowed_tools) };

export type WireRequest = z.output<typeof responsesRequestSchema>;
