/**
 * What Anthropic's Messages API does not support, or rejects with an error that would not help the client. Checked in
 * the order of the contract's parameters. Whatever only some of its models reject belongs in the catalogue.
 */
import { inputSchema, isBlank, sentMediaType } from './anthropic-request.ts';
import { effortProblem } from './anthropic-thinking.ts';
import {
  type AnswerItem,
  type ChatCall,
  type ChatMessage,
  type ImagePart,
  type ResponseFormat,
  type TextPart,
  type Tool,
  type ToolCall,
  textOf,
  toolCallsOf,
} from './chat.ts';
import type { ReasoningSupport } from './effort.ts';
import { areReadable, deepestArguments, readArguments, tooMuchToRead } from './tool-arguments.ts';
import type { Dialect, Unsupported } from './upstream.ts';
import { arrayAt, type Fields, isObject } from './wire.ts';

export function unsupported(
  call: ChatCall,
  _dialect: Dialect,
  reasoning?: ReasoningSupport | null,
): Unsupported | null {
  return (
    inParameter('messages', messagesProblem(call.messages)) ??
    inParameter('temperature', temperatureProblem(call)) ??
    inParameter('top_p', topPProblem(call)) ??
    inParameter('stop', stopProblem(call)) ??
    inParameter('presence_penalty', presencePenaltyProblem(call)) ??
    inParameter('tools', toolsProblem(call)) ??
    inParameter('response_format', formatProblem(call.responseFormat)) ??
    inParameter('seed', call.seed === null ? null : 'This model does not support seed: leave it out.') ??
    inParameter('reasoning_effort', effortProblem(call, reasoning))
  );
}

/** A problem is a sentence for the client. */
function inParameter(param: string, problem: string | null): Unsupported | null {
  return problem === null ? null : { param, message: problem };
}

function firstProblem<Item>(items: Iterable<Item>, problemOf: (item: Item) => string | null): string | null {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== null) return problem;
  }
  return null;
}

function messagesProblem(messages: readonly ChatMessage[]): string | null {
  if (!areReadable(messages)) return tooMuchToRead;
  const turns = messages.filter(({ role }) => role !== 'system');
  return firstProblem(messages, messageProblem) ?? answersProblem(turns) ?? endProblem(turns.at(-1));
}

const blankText = 'This model takes no empty text: leave the message or part out, or write something in it.';

function messageProblem(message: ChatMessage): string | null {
  switch (message.role) {
    case 'system':
      return isBlank(message.content) ? blankText : null;
    case 'user':
      if (typeof message.content === 'string') return isBlank(message.content) ? blankText : null;
      return firstProblem(message.content, partProblem);
    case 'assistant':
      return answerProblem(message.items);
    case 'tool':
      return typeof message.content === 'string' ? null : firstProblem(message.content, resultPartProblem);
  }
}

function answerProblem(items: readonly AnswerItem[]): string | null {
  // What a model thought before it was cut off says nothing to anyone else.
  if (items.length > 0 && items.every(({ type }) => type === 'reasoning')) return null;
  const calls = toolCallsOf(items);
  if (calls.length === 0) return isBlank(textOf(items)) ? blankText : null;
  return firstProblem(calls, toolCallProblem);
}

const mediaTypes: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

function partProblem(part: TextPart | ImagePart): string | null {
  if (part.type === 'text') return isBlank(part.text) ? blankText : null;
  const mediaType = sentMediaType(part.url);
  if (mediaType !== null && !mediaTypes.has(mediaType))
    return 'This model takes images of the types image/jpeg, image/png, image/gif and image/webp only.';
  if (part.detail === 'low')
    return 'This model has no image detail "low": use "auto" or "high", or send a smaller image.';
  return null;
}

/** An empty text in a result is left out: it means nothing. */
function resultPartProblem(part: TextPart | ImagePart): string | null {
  return part.type === 'text' ? null : partProblem(part);
}

function toolCallProblem({ name, arguments: text }: ToolCall): string | null {
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    return 'The function name of a tool call must consist of 1 to 64 letters, digits, underscores or dashes.';
  return readArguments(text) === null
    ? `The arguments of a tool call must be a JSON object of at most ${deepestArguments} levels.`
    : null;
}

/** Every call is answered once, in the very next turn. */
function answersProblem(turns: readonly ChatMessage[]): string | null {
  const open = new Set<string>();
  const isInOrder = turns.every((message) => {
    if (message.role === 'tool') return open.delete(message.toolCallId);
    if (open.size > 0) return false;
    if (message.role === 'assistant') for (const { id } of toolCallsOf(message.items)) open.add(id);
    return true;
  });
  return isInOrder && open.size === 0
    ? null
    : 'This model needs one tool message for each tool call, right after the assistant message that holds it.';
}

/** Older models would continue a last assistant message, and newer ones reject it; the contract asks for neither. */
function endProblem(last: ChatMessage | undefined): string | null {
  return last === undefined || last.role === 'assistant'
    ? 'This model answers a user or tool message: end the conversation with one.'
    : null;
}

function temperatureProblem({ temperature }: ChatCall): string | null {
  return temperature !== null && temperature > 1 ? 'This model takes a temperature of at most 1.' : null;
}

function topPProblem({ temperature, topP }: ChatCall): string | null {
  return temperature !== null && topP !== null
    ? 'This model takes either temperature or top_p: leave one of them out.'
    : null;
}

function stopProblem({ stop }: ChatCall): string | null {
  return stop?.some(isBlank) === true
    ? 'This model cannot stop at whitespace: every stop string needs a visible character.'
    : null;
}

/** Zero is the default. */
function presencePenaltyProblem({ presencePenalty }: ChatCall): string | null {
  return presencePenalty === null || presencePenalty === 0
    ? null
    : 'This model does not support presence_penalty: leave it out.';
}

function toolsProblem({ tools, messages }: ChatCall): string | null {
  if (tools !== null) return firstProblem(tools, toolProblem);
  return messages.some((message) => message.role === 'assistant' && toolCallsOf(message.items).length > 0)
    ? 'This conversation holds tool calls: declare its tools, with "tool_choice": "none" if none may be called.'
    : null;
}

function toolProblem(tool: Tool): string | null {
  const { parameters, strict } = tool;
  if (parameters === null) return null;
  if (parameters.type !== undefined && parameters.type !== 'object')
    return 'The parameters of a tool must be a JSON Schema of the type "object".';
  if (['oneOf', 'anyOf', 'allOf'].some((keyword) => Object.hasOwn(parameters, keyword)))
    return 'This model takes no oneOf, anyOf or allOf at the top of the parameters of a tool: use them inside properties.';
  // A strict tool is held to the same subset as a response format, as documented at
  // platform.claude.com/docs/en/agents-and-tools/tool-use/strict-tool-use.
  return strict === true ? schemaProblem(inputSchema(tool)) : null;
}

function formatProblem(format: ResponseFormat | null): string | null {
  if (format === null || format.type === 'text') return null;
  if (format.type === 'json_object')
    return 'This model has no response format json_object: use json_schema and give a schema.';
  return format.schema === null
    ? 'This model needs the schema of the response format json_schema.'
    : schemaProblem(format.schema);
}

const maxChain = 500;
/** References beyond this are left to the provider too. */
const maxReferenceCharacters = 100_000;

/** The subset of JSON Schema is documented at platform.claude.com/docs/en/build-with-claude/structured-outputs. */
function schemaProblem(root: Fields): string | null {
  /** Each schema is checked once, however many references lead to it. */
  const seen = new Set<object>();
  /** The schemas on the path from the root to the current one. */
  const open = new Set<object>();
  let referenceCharacters = 0;

  function problemIn(schema: unknown): string | null {
    if (!isObject(schema)) return null;
    if (open.has(schema)) return 'This model takes no schema that refers to itself.';
    // Longer chains of references than anyone writes are left to the provider.
    if (seen.has(schema) || open.size >= maxChain) return null;
    seen.add(schema);
    open.add(schema);
    const problem =
      keywordProblem(schema) ?? referenceProblem(schema.$ref) ?? firstInnerProblem(schema, problemIn);
    open.delete(schema);
    return problem;
  }

  function referenceProblem(reference: unknown): string | null {
    if (typeof reference !== 'string') return null;
    if (!reference.startsWith('#')) return 'This model takes no schema that refers to another document.';
    referenceCharacters += reference.length;
    return referenceCharacters > maxReferenceCharacters ? null : problemIn(schemaAt(root, reference));
  }

  return problemIn(root);
}

const unsupportedKeywords: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
]);

function keywordProblem(schema: Fields): string | null {
  for (const name in schema)
    if (unsupportedKeywords.has(name)) return `This model takes no ${name} in a schema: leave it out.`;
  const { minItems } = schema;
  if (minItems !== undefined && minItems !== 0 && minItems !== 1)
    return 'This model takes only 0 and 1 as minItems in a schema.';
  if (mayBeObject(schema.type) && schema.additionalProperties !== false)
    return 'This model needs "additionalProperties": false in every object of a schema.';
  if (arrayAt(schema, 'enum').some((value) => typeof value === 'object' && value !== null))
    return 'This model takes only plain values in an enum of a schema.';
  if (arrayAt(schema, 'allOf').some((inner) => isObject(inner) && inner.$ref !== undefined))
    return 'This model takes no $ref inside allOf in a schema.';
  return null;
}

function mayBeObject(type: unknown): boolean {
  return Array.isArray(type) ? type.includes('object') : type === 'object';
}

/** Descends into the keywords that hold schemas; the contents of enum, const and default are data. */
function firstInnerProblem(schema: Fields, problemIn: (inner: unknown) => string | null): string | null {
  let problem = problemIn(schema.items);
  for (const name of listsOfSchemas)
    if (problem === null) problem = firstProblem(arrayAt(schema, name), problemIn);
  for (const name of namedSchemas) {
    const named = schema[name];
    if (problem === null && isObject(named)) problem = firstProblem(Object.values(named), problemIn);
  }
  return problem;
}

const listsOfSchemas = ['anyOf', 'allOf', 'oneOf', 'prefixItems'];
const namedSchemas = ['properties', '$defs', 'definitions'];

/** The target of a reference within the document; undefined for one that this gateway does not follow. */
function schemaAt(root: Fields, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let place: unknown = root;
  for (const step of reference.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    place =
      typeof place === 'object' && place !== null && Object.hasOwn(place, name)
        ? (place as Fields)[name]
        : undefined;
  }
  return place;
}
