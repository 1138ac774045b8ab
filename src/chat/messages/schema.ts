/**
 * The body of POST /v1/messages on the wire. Fields that are not listed here are kept: a provider that speaks the same
 * format gets them. Each message in here completes the sentence "expected …". Rules about several fields, and what is
 * refused by name, are in the files beside this one.
 */
import { z } from 'zod';
import { kindsBy } from '../../json/kinds.ts';
import { listOf } from '../../json/list.ts';
import {
  flagOrNull,
  isImageUrl,
  jsonObject,
  nonEmptyText,
  text,
  textOrNull,
  wholeNumber,
} from '../wire-fields.ts';

/** Objects that may hold fields which are not known here. */
function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.looseObject(shape, 'an object');
}

const cacheControl = fields({
  type: z.literal('ephemeral', '"ephemeral"'),
  ttl: z.enum(['5m', '1h'], '"5m" or "1h"').optional(),
}).nullish();

const visible = 'a text with at least one visible character';
const visibleText = z.string(visible).regex(/\S/, visible);

const textBlock = fields({
  type: z.literal('text', '"text"'),
  text: visibleText,
  cache_control: cacheControl,
});

const mediaTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;
const imageUrl = 'an https:// URL of up to 8192 characters without credentials';
const typed = fields({ type: nonEmptyText() });

const imageSource = kindsBy(
  'type',
  {
    base64: fields({
      type: z.literal('base64'),
      media_type: z.enum(mediaTypes, `one of ${mediaTypes.join(', ')}`),
      data: nonEmptyText(),
    }),
    url: fields({
      type: z.literal('url'),
      url: z.string(imageUrl).refine((url) => isImageUrl(url) && !/^data:/i.test(url), imageUrl),
    }),
  },
  typed,
);

const imageBlock = fields({ type: z.literal('image'), source: imageSource, cache_control: cacheControl });
const documentBlock = fields({
  type: z.literal('document'),
  source: typed,
  title: textOrNull,
  context: textOrNull,
  cache_control: cacheControl,
});
const searchResultBlock = fields({
  type: z.literal('search_result'),
  source: text,
  title: text,
  content: listOf(textBlock, 'an array of text blocks'),
  cache_control: cacheControl,
});
/** Of a type that is not known here. */
const otherBlock = fields({ type: nonEmptyText('the type of a content block'), cache_control: cacheControl });

const shownBlocks = {
  text: textBlock,
  image: imageBlock,
  document: documentBlock,
  search_result: searchResultBlock,
};

/** A gateway may put what a provider needs back into an ID, so it can be long. */
const maxId = 100_000;
const toolId = `an ID of letters, digits, underscores and dashes, up to ${maxId} of them`;
const idText = z
  .string(toolId)
  .max(maxId, toolId)
  .regex(/^[a-zA-Z0-9_-]+$/, toolId);
const toolName = 'a name of 1 to 128 letters, digits, underscores or dashes';
const nameText = z.string(toolName).regex(/^[a-zA-Z0-9_-]{1,128}$/, toolName);

const toolResultBlock = fields({
  type: z.literal('tool_result'),
  tool_use_id: idText,
  content: z
    .union(
      [text, listOf(kindsBy('type', shownBlocks, otherBlock), 'a string or an array of content blocks')],
      'a string or an array of content blocks',
    )
    .nullish(),
  is_error: flagOrNull,
  cache_control: cacheControl,
});

const toolUseBlock = fields({
  type: z.literal('tool_use'),
  id: idText,
  name: nameText,
  input: jsonObject,
  cache_control: cacheControl,
});
const thinkingBlock = fields({ type: z.literal('thinking'), thinking: text, signature: text });
const redactedBlock = fields({ type: z.literal('redacted_thinking'), data: text });
/** Next to a call, a model may have written an empty text. */
const answerText = fields({ type: z.literal('text'), text, cache_control: cacheControl });

const userBlock = kindsBy('type', { ...shownBlocks, tool_result: toolResultBlock }, otherBlock);
const answerBlock = kindsBy(
  'type',
  {
    text: answerText,
    tool_use: toolUseBlock,
    thinking: thinkingBlock,
    redacted_thinking: redactedBlock,
  },
  otherBlock,
);

const content = 'a text or a non-empty array of content blocks';
const roles = "'user', 'assistant' or 'system'";

const userMessage = fields({
  role: z.literal('user'),
  content: z.union([visibleText, listOf(userBlock, content, { min: 1 })], content),
});
const assistantMessage = fields({
  role: z.literal('assistant'),
  content: z.union([nonEmptyText(content), listOf(answerBlock, content, { min: 1 })], content),
});
const systemMessage = fields({
  role: z.literal('system'),
  content: z.union([visibleText, listOf(textBlock, content, { min: 1 })], content),
});

/** Stands for every other role, and so rejects all of them. */
const noMessage = fields({ role: z.enum(['user', 'assistant', 'system'], roles) });

const message = kindsBy(
  'role',
  { user: userMessage, assistant: assistantMessage, system: systemMessage },
  noMessage,
);

const tool = fields({
  type: textOrNull,
  name: nameText,
  description: textOrNull,
  input_schema: jsonObject.optional(),
  strict: flagOrNull,
  cache_control: cacheControl,
});

const toolChoice = kindsBy(
  'type',
  {
    auto: fields({ type: z.literal('auto'), disable_parallel_tool_use: flagOrNull }),
    any: fields({ type: z.literal('any'), disable_parallel_tool_use: flagOrNull }),
    tool: fields({ type: z.literal('tool'), name: nonEmptyText(), disable_parallel_tool_use: flagOrNull }),
    none: fields({ type: z.literal('none') }),
  },
  fields({ type: z.enum(['auto', 'any', 'tool', 'none'], '"auto", "any", "tool" or "none"') }),
);

const budget = 'an integer from 1024 on';
const thinking = kindsBy(
  'type',
  {
    enabled: fields({
      type: z.literal('enabled'),
      budget_tokens: wholeNumber(1_024, budget),
      display: textOrNull,
    }),
  },
  fields({ type: nonEmptyText(), display: textOrNull }),
);

const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

const outputConfig = fields({
  effort: z.enum(efforts, `one of ${efforts.join(', ')}, or null`).nullish(),
  format: fields({ type: z.literal('json_schema', '"json_schema"'), schema: jsonObject }).nullish(),
});

const share = 'a number from 0 to 1';
const messageCount = 100_000;
const toolCount = 2_000;
const stopCount = 1_000;

/** What both endpoints read. */
const shared = {
  model: nonEmptyText('the ID of a model'),
  messages: listOf(message, `an array of 1 to ${messageCount} messages`, { min: 1, max: messageCount }),
  system: z
    .union(
      [text, listOf(textBlock, 'a string or an array of text blocks')],
      'a string or an array of text blocks',
    )
    .nullish(),
  tools: z.nullish(listOf(tool, `an array of up to ${toolCount} tools`, { max: toolCount })),
  tool_choice: z.nullish(toolChoice),
  thinking: z.nullish(thinking),
  output_config: outputConfig.nullish(),
  cache_control: cacheControl,
};

export const messagesRequestSchema = z.looseObject(
  {
    ...shared,
    max_tokens: wholeNumber(1, 'a positive integer up to 2147483647'),
    stream: flagOrNull,
    stop_sequences: z.nullish(listOf(nonEmptyText(), 'an array of non-empty strings', { max: stopCount })),
    temperature: z.number(share).min(0, share).max(1, share).nullish(),
    top_p: z.number(share).min(0, share).max(1, share).nullish(),
    top_k: wholeNumber(0, 'an integer from 0 on').nullish(),
    metadata: fields({ user_id: textOrNull }).nullish(),
  },
  'a JSON object',
);

export const countRequestSchema = z.looseObject(shared, 'a JSON object');

export type WireMessagesRequest = z.output<typeof messagesRequestSchema>;
export type WireCountRequest = z.output<typeof countRequestSchema>;
export type WireMessage = WireCountRequest['messages'][number];
export type WireUserMessage = z.output<typeof userMessage>;
export type WireAssistantMessage = z.output<typeof assistantMessage>;
export type WireSystemMessage = z.output<typeof systemMessage>;
export type WireTool = z.output<typeof tool>;
export type WireTextBlock = z.output<typeof textBlock>;
export type WireImageBlock = z.output<typeof imageBlock>;
export type WireToolResult = z.output<typeof toolResultBlock>;
export type WireToolUse = z.output<typeof toolUseBlock>;
export type WireThinking = z.output<typeof thinkingBlock>;
export type WireRedacted = z.output<typeof redactedBlock>;
export type WireBlock = z.output<typeof otherBlock>;
