/**
 * Parses a request of OpenAI's Responses API as strictly as OpenAI. Documented at
 * platform.openai.com/docs/api-reference/responses/create. Nothing is stored here, so what refers to stored items is rejected.
 */

import {
  type ChatRequest,
  type ContentPart,
  checkToolResults,
  type Message,
  type RequestedCall,
  type Tool,
  type ToolChoice,
} from './chat-request.ts';
import { BadRequest } from './errors.ts';
import {
  type Fields,
  isObject,
  readArray,
  readBody,
  readObject,
  readOptionalString,
  readString,
} from './fields.ts';
import { encryptedContentOf } from './responses-wire.ts';

const knownFields = new Set([
  'access_programs',
  'background',
  // Codex sends it, and OpenAI accepts it, but does not document it.
  'client_metadata',
  'context_management',
  'conversation',
  'image',
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'model',
  'moderation',
  'parallel_tool_calls',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
]);
const roles = new Set(['system', 'developer', 'user', 'assistant']);

export function readResponses(body: unknown): ChatRequest {
  const fields = readBody(body, knownFields);
  const { model, input, instructions, stream, stream_options: options, max_output_tokens: limit } = fields;
  if (typeof model !== 'string' || model === '') throw new BadRequest('A model is required.', 'model');
  if (fields.previous_response_id != null)
    throw new BadRequest('There is no such response.', 'previous_response_id');
  if (limit != null && !Number.isInteger(limit))
    throw new BadRequest('Expected a whole number.', 'max_output_tokens');
  if (options != null && stream !== true)
    throw new BadRequest('Only allowed with "stream".', 'stream_options');
  const reader = new InputReader();
  if (instructions != null)
    reader.messages.push({ role: 'system', content: readString(instructions, 'instructions') });
  reader.read(input);
  const { messages } = reader;
  checkToolResults(messages);
  const tools = [...readTools(fields.tools ?? [], 'tools'), ...reader.tools];
  const includes = fields.include == null ? [] : readArray(fields.include, 'include');
  return {
    model,
    messages,
    stream: stream === true,
    stream_options: stream === true ? { include_usage: true } : null,
    max_tokens: (limit ?? null) as number | null,
    tools,
    tool_choice: readToolChoice(fields.tool_choice),
    parallel_tool_calls: (fields.parallel_tool_calls ?? null) as boolean | null,
    response_format: readFormat(fields.text),
    responses: {
      asked: fields,
      isReasoningIncluded: includes.includes('reasoning.encrypted_content'),
      isSummaryShown: isObject(fields.reasoning) && fields.reasoning.summary != null,
      isObfuscated: !isObject(options) || options.include_obfuscation !== false,
    },
  };
}

/** Turns input items into messages: what an assistant said and called in a row is one message. */
class InputReader {
  readonly messages: Message[] = [];
  readonly tools: Tool[] = [];

  read(input: unknown): void {
    if (typeof input === 'string') {
      this.messages.push({ role: 'user', content: input });
      return;
    }
    const items = readArray(input, 'input');
    if (items.length === 0) throw new BadRequest('At least one item is required.', 'input');
    for (const [index, item] of items.entries())
      this.#item(readObject(item, `input[${index}]`), `input[${index}]`);
  }

  #item(item: Fields, path: string): void {
    switch (item.type ?? 'message') {
      case 'message':
        this.#message(item, path);
        return;
      case 'function_call':
        this.#call(item, readString(item.arguments, `${path}.arguments`), path);
        return;
      case 'custom_tool_call':
        this.#call(item, readString(item.input, `${path}.input`), path);
        return;
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.messages.push({
          role: 'tool',
          tool_call_id: readString(item.call_id, `${path}.call_id`),
          content: readContent(item.output, `${path}.output`),
        });
        return;
      case 'reasoning':
        checkReasoning(item, path);
        return;
      case 'additional_tools':
        this.tools.push(...readTools(item.tools, `${path}.tools`));
        return;
      default:
        throw new BadRequest(`There is no such item: ${String(item.type)}.`, `${path}.type`);
    }
  }

  #message({ role, content }: Fields, path: string): void {
    if (typeof role !== 'string' || !roles.has(role)) throw new BadRequest('Unknown role.', `${path}.role`);
    const read = readContent(content, `${path}.content`);
    const last = this.messages.at(-1);
    if (role === 'assistant' && last?.role === 'assistant' && last.content == null)
      this.messages.splice(-1, 1, { ...last, content: read });
    else this.messages.push({ role, content: read });
  }

  #call({ call_id, name }: Fields, written: string, path: string): void {
    const call: RequestedCall = {
      id: readString(call_id, `${path}.call_id`),
      type: 'function',
      function: { name: readString(name, `${path}.name`), arguments: written },
    };
    const last = this.messages.at(-1);
    if (last?.role === 'assistant')
      this.messages.splice(-1, 1, { ...last, tool_calls: [...(last.tool_calls ?? []), call] });
    else this.messages.push({ role: 'assistant', content: null, tool_calls: [call] });
  }
}

/** The content belongs to the ID that the item was given. */
function checkReasoning({ id, encrypted_content: content }: Fields, path: string): void {
  const given = readString(id, `${path}.id`);
  if (content == null) throw new BadRequest(`There is no stored item ${given}.`, path);
  if (content !== encryptedContentOf(given))
    throw new BadRequest(`The encrypted content for item ${given} could not be verified.`, path);
}

function readContent(content: unknown, path: string): string | readonly ContentPart[] {
  if (typeof content === 'string') return content;
  return readArray(content, path).map((part, index) => {
    const { type, text, refusal, image_url: url } = readObject(part, `${path}[${index}]`);
    switch (type) {
      case 'input_text':
      case 'output_text':
        return { type: 'text', text: readString(text, `${path}[${index}].text`) };
      case 'refusal':
        return { type: 'text', text: readString(refusal, `${path}[${index}].refusal`) };
      case 'input_image':
        readString(url, `${path}[${index}].image_url`);
        return { type: 'image_url' };
      default:
        throw new BadRequest('Unknown type of content.', `${path}[${index}].type`);
    }
  });
}

/** Built-in tools are never used, so they are left out. */
function readTools(tools: unknown, path: string): readonly Tool[] {
  return readArray(tools, path).flatMap((tool, index) => {
    const fields = readObject(tool, `${path}[${index}]`);
    switch (fields.type) {
      case 'function':
        return [readTool(fields, {}, `${path}[${index}]`)];
      case 'custom':
        return [readTool(fields, { isCustom: true }, `${path}[${index}]`)];
      case 'namespace': {
        const namespace = readString(fields.name, `${path}[${index}].name`);
        return readTools(fields.tools, `${path}[${index}].tools`).map((inner) => ({ ...inner, namespace }));
      }
      default:
        readString(fields.type, `${path}[${index}].type`);
        return [];
    }
  });
}

function readTool(fields: Fields, kind: Readonly<{ isCustom?: true }>, path: string): Tool {
  const name = readString(fields.name, `${path}.name`);
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) throw new BadRequest('A valid name is required.', `${path}.name`);
  const description = readOptionalString(fields.description, `${path}.description`);
  if (!kind.isCustom && fields.strict !== null && typeof fields.strict !== 'boolean')
    throw new BadRequest('Expected true, false or null.', `${path}.strict`);
  return { type: 'function', function: { name, description, parameters: fields.parameters }, ...kind };
}

function readToolChoice(choice: unknown): ToolChoice | null {
  if (choice == null || typeof choice === 'string') return choice ?? null;
  const { type, name, mode } = readObject(choice, 'tool_choice');
  if (type === 'allowed_tools') return readString(mode, 'tool_choice.mode');
  return { type: 'function', function: { name: readString(name, 'tool_choice.name') } };
}

function readFormat(text: unknown): NonNullable<ChatRequest['response_format']> | null {
  const format = text == null ? null : readObject(text, 'text').format;
  if (format == null) return null;
  const { type, name, schema } = readObject(format, 'text.format');
  if (type !== 'json_schema') return { type: readString(type, 'text.format.type') };
  readString(name, 'text.format.name');
  return { type, json_schema: { schema: readObject(schema, 'text.format.schema') } };
}
