/**
 * The bodies of requests as components of the document: the very schemas that check them, with names for their parts, so
 * that readers and client generators can name them too.
 */
import type { z } from 'zod';
import { chatRequestSchema } from '../chat/completions/schema.ts';
import { countRequestSchema, messagesRequestSchema } from '../chat/messages/schema.ts';
import { responsesRequestSchema } from '../chat/responses/schema.ts';
import { imageRequestSchema } from '../images/schema.ts';
import { componentsOf, type JsonSchema, nameSchema } from './json-schema.ts';
import { requestNotes } from './request-notes.ts';

const { messages, tools, tool_choice: toolChoice, response_format: responseFormat } = chatRequestSchema.shape;
const message = messages._zod.def.element;
const [system, user, assistant, tool] = message.options;
const [, parts] = user.shape.content.options;
const [textPart, imagePart] = parts._zod.def.element.options;
const [, namedToolChoice] = toolChoice.unwrap().options;
const [textFormat, jsonFormat, jsonSchemaFormat] = responseFormat.unwrap().options;

const named: readonly (readonly [string, z.core.$ZodType])[] = [
  ['ChatCompletionRequest', chatRequestSchema],
  ['SystemMessage', system],
  ['UserMessage', user],
  ['AssistantMessage', assistant],
  ['ToolMessage', tool],
  ['TextPart', textPart],
  ['ImagePart', imagePart],
  ['ToolCallMade', assistant.shape.tool_calls.unwrap().unwrap()._zod.def.element],
  ['Tool', tools.unwrap()._zod.def.element],
  ['NamedToolChoice', namedToolChoice],
  ['TextFormat', textFormat],
  ['JsonFormat', jsonFormat],
  ['JsonSchemaFormat', jsonSchemaFormat],
  ['ResponsesRequest', responsesRequestSchema],
  ['MessagesRequest', messagesRequestSchema],
  ['CountTokensRequest', countRequestSchema],
  ['ImageRequest', imageRequestSchema],
];
for (const [id, schema] of named) nameSchema(schema, id);

export {
  chatRequestSchema,
  countRequestSchema,
  imageRequestSchema,
  messagesRequestSchema,
  responsesRequestSchema,
};

export function requestComponents(): Record<string, JsonSchema> {
  const components = componentsOf(
    [
      chatRequestSchema,
      responsesRequestSchema,
      messagesRequestSchema,
      countRequestSchema,
      imageRequestSchema,
    ],
    'input',
  );
  return Object.fromEntries(
    Object.entries(components).map(([id, schema]) => [id, withNotes(schema, requestNotes[id])]),
  );
}

function withNotes(schema: JsonSchema, notes: (typeof requestNotes)[string] | undefined): JsonSchema {
  const fields = Object.entries((schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>);
  return {
    description: notes?.about,
    ...schema,
    properties: Object.fromEntries(
      fields.map(([name, field]) => [name, { ...field, description: notes?.fields[name] }]),
    ),
  };
}
