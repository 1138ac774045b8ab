/** Parses a Messages request as strictly as Anthropic does. Documented at platform.claude.com/docs/en/api/messages. */

import {
  type ChatRequest,
  type ContentPart,
  checkToolResults,
  type Message,
  type RequestedCall,
  type Tool,
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
  rejectUnknown,
} from './fields.ts';

const knownFields = new Set([
  'cache_control',
  'container',
  'context_management',
  'diagnostics',
  'inference_geo',
  'max_tokens',
  'messages',
  'metadata',
  'model',
  'output_config',
  'safeguards',
  'service_tier',
  'speed',
  'stop_sequences',
  'stream',
  'system',
  'temperature',
  'thinking',
  'tool_choice',
  'tools',
  'top_k',
  'top_p',
]);
const messageFields = new Set(['role', 'content']);
const toolFields = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
  'defer_loading',
  'eager_input_streaming',
  'input_examples',
  'allowed_callers',
]);
const blockFields: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['text', new Set(['type', 'text', 'citations', 'cache_control'])],
  ['image', new Set(['type', 'source', 'cache_control'])],
  ['tool_use', new Set(['type', 'id', 'name', 'input', 'caller', 'cache_control'])],
  ['tool_result', new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control'])],
  ['thinking', new Set(['type', 'thinking', 'signature'])],
  ['redacted_thinking', new Set(['type', 'data'])],
]);
const imageTypes = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

export function readAnthropicChat(body: unknown): ChatRequest {
  const fields = readBody(body, knownFields);
  const model = readString(fields.model, 'model');
  const maxTokens = fields.max_tokens;
  if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens) || maxTokens < 1) {
    throw new BadRequest('An integer of at least 1 is required.', 'max_tokens');
  }
  const { temperature } = fields;
  if (
    temperature !== undefined &&
    !(typeof temperature === 'number' && temperature >= 0 && temperature <= 1)
  ) {
    throw new BadRequest('A number from 0 to 1 is expected.', 'temperature');
  }
  const tools = fields.tools === undefined ? [] : readArray(fields.tools, 'tools').map(readTool);
  if (fields.thinking !== undefined) checkThinking(fields, maxTokens);
  const stream = fields.stream === true;
  return {
    model,
    messages: [...readSystem(fields.system), ...readMessages(fields.messages)],
    stream,
    stream_options: { include_usage: stream },
    max_tokens: maxTokens,
    stop: readStop(fields.stop_sequences),
    tools,
    ...readToolChoice(fields.tool_choice, tools),
    response_format: readFormat(fields.output_config),
  };
}

const thinkingTypes = new Set(['adaptive', 'enabled', 'disabled', 'between_tools']);
const minBudget = 1_024;

/** A model that thinks takes no other temperature than 1, and cannot be forced to use a tool. */
function checkThinking({ thinking, temperature, tool_choice: choice }: Fields, maxTokens: number): void {
  const { type, budget_tokens: budget } = readObject(thinking, 'thinking');
  if (!thinkingTypes.has(readString(type, 'thinking.type')))
    throw new BadRequest('Unknown type.', 'thinking.type');
  if (type === 'disabled') return;
  const isBudget = Number.isInteger(budget) && Number(budget) >= minBudget && Number(budget) < maxTokens;
  if (type === 'enabled' && !isBudget)
    throw new BadRequest('At least 1024, and less than max_tokens.', 'thinking.budget_tokens');
  if (temperature !== undefined && temperature !== 1)
    throw new BadRequest('It must be 1 while thinking.', 'temperature');
  if (isObject(choice) && (choice.type === 'any' || choice.type === 'tool'))
    throw new BadRequest('A model that thinks cannot be forced to use a tool.', 'tool_choice');
}

/** Each block becomes a separate message, like several system messages in OpenAI's format. */
function readSystem(system: unknown): readonly Message[] {
  if (system === undefined) return [];
  const blocks = typeof system === 'string' ? [{ type: 'text', text: system }] : readArray(system, 'system');
  return blocks.map((block, index) => {
    const path = `system.${index}`;
    if (!isObject(block) || block.type !== 'text') throw new BadRequest('Expected text.', path);
    return { role: 'system', content: readText(block, path) };
  });
}

function readMessages(value: unknown): readonly Message[] {
  const turns = readArray(value, 'messages').map((turn, index) => readObject(turn, `messages.${index}`));
  const callIds = new Set<string>();
  const messages = turns.flatMap((turn, index) => {
    const path = `messages.${index}`;
    rejectUnknown(turn, messageFields, path);
    const blocks = readBlocks(turn.content, `${path}.content`);
    // Newer models take instructions in the middle, too, but not at the beginning.
    if (turn.role === 'system' && index > 0)
      return blocks.map((block): Message => ({ role: 'system', content: readText(block, path) }));
    if (turn.role === 'user') return readUser(blocks, path);
    if (turn.role !== 'assistant')
      throw new BadRequest('The role must be "user", "assistant" or "system".', `${path}.role`);
    return [readAssistant(blocks, path, callIds)];
  });
  checkToolResults(messages);
  return messages;
}

function readBlocks(content: unknown, path: string): readonly Fields[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : readArray(content, path);
  if (blocks.length === 0) throw new BadRequest('A message must not be empty.', path);
  return blocks.map((block, index) => {
    const fields = readObject(block, `${path}.${index}`);
    const known = blockFields.get(readString(fields.type, `${path}.${index}.type`));
    if (!known) throw new BadRequest('Unknown block type.', `${path}.${index}.type`);
    rejectUnknown(fields, known, `${path}.${index}`);
    return fields;
  });
}

/** Results come first, and become separate messages. */
function readUser(blocks: readonly Fields[], path: string): readonly Message[] {
  const firstOther = blocks.findIndex(({ type }) => type !== 'tool_result');
  const count = firstOther === -1 ? blocks.length : firstOther;
  const results = blocks.slice(0, count).map((block) => readResult(block, path));
  if (new Set(results.map((result) => result.tool_call_id)).size < results.length) {
    throw new BadRequest('Each tool_use must have exactly one tool_result.', path);
  }
  const parts = blocks.slice(count).map((block) => {
    if (block.type === 'tool_result')
      throw new BadRequest('A tool_result must come before other blocks.', path);
    return readPart(block, path);
  });
  return parts.length === 0 ? results : [...results, { role: 'user', content: parts }];
}

function readResult({ tool_use_id, content = '', is_error: isError }: Fields, path: string): Message {
  if (isError === true && content === '')
    throw new BadRequest('The content of an error must not be empty.', `${path}.content`);
  const blocks = content === '' ? [] : readBlocks(content, path);
  const parts = blocks.map((block) => readPart(block, path));
  return { role: 'tool', tool_call_id: readString(tool_use_id, `${path}.tool_use_id`), content: parts };
}

function readPart(block: Fields, path: string): ContentPart {
  if (block.type === 'text') return { type: 'text', text: readText(block, path) };
  if (block.type !== 'image') throw new BadRequest('Expected text or an image.', path);
  const source = readObject(block.source, `${path}.source`);
  if (source.type === 'base64') {
    readString(source.data, `${path}.source.data`);
    if (!imageTypes.has(readString(source.media_type, `${path}.source.media_type`))) {
      throw new BadRequest('Images must be JPEG, PNG, GIF or WebP.', `${path}.source.media_type`);
    }
  } else if (source.type !== 'url' || !/^https?:/.test(readString(source.url, `${path}.source.url`))) {
    throw new BadRequest('A source must be base64 or a URL.', `${path}.source`);
  }
  return { type: 'image_url' };
}

function readText({ text }: Fields, path: string): string {
  const read = readString(text, `${path}.text`);
  if (read.trim() === '') throw new BadRequest('A text block must not be empty.', path);
  return read;
}

/** Earlier thoughts are accepted and not counted. */
function readAssistant(blocks: readonly Fields[], path: string, callIds: Set<string>): Message {
  const texts: string[] = [];
  const calls: RequestedCall[] = [];
  const last = blocks.at(-1)?.type;
  if (last === 'thinking' || last === 'redacted_thinking')
    throw new BadRequest('The last block must not be thinking.', path);
  for (const block of blocks) {
    if (block.type === 'text') texts.push(readText(block, path));
    else if (block.type === 'tool_use') calls.push(readCall(block, path, callIds));
    else if (block.type === 'thinking') readString(block.signature, `${path}.signature`);
    else if (block.type !== 'redacted_thinking')
      throw new BadRequest('This block is not allowed for an assistant.', path);
  }
  const content = texts.length === 0 ? null : texts.join('\n');
  return { role: 'assistant', content, tool_calls: calls.length === 0 ? undefined : calls };
}

function readCall({ id, name, input }: Fields, path: string, callIds: Set<string>): RequestedCall {
  const callId = readString(id, `${path}.id`);
  if (!/^[a-zA-Z0-9_-]+$/.test(callId)) throw new BadRequest('The ID has invalid characters.', `${path}.id`);
  if (callIds.has(callId)) throw new BadRequest('The IDs of tool_use must be unique.', `${path}.id`);
  callIds.add(callId);
  const called = {
    name: readName(name, path),
    arguments: JSON.stringify(readObject(input, `${path}.input`)),
  };
  return { id: callId, type: 'function', function: called };
}

function readTool(value: unknown, index: number): Tool {
  const path = `tools.${index}`;
  const tool = readObject(value, path);
  rejectUnknown(tool, toolFields, path);
  if ((tool.type ?? 'custom') !== 'custom') throw new BadRequest('Unknown tool type.', `${path}.type`);
  const schema = readObject(tool.input_schema, `${path}.input_schema`);
  if (schema.type !== 'object')
    throw new BadRequest('The schema must describe an object.', `${path}.input_schema.type`);
  const description = readOptionalString(tool.description, `${path}.description`);
  const called = { name: readName(tool.name, path), description, parameters: schema };
  return { type: 'function', function: called };
}

function readName(name: unknown, path: string): string {
  const read = readString(name, `${path}.name`);
  if (/^[a-zA-Z0-9_-]{1,128}$/.test(read)) return read;
  throw new BadRequest('The name is too long or has invalid characters.', `${path}.name`);
}

function readToolChoice(
  value: unknown,
  tools: readonly Tool[],
): Pick<ChatRequest, 'tool_choice' | 'parallel_tool_calls'> {
  if (value === undefined) return {};
  const { type, name, disable_parallel_tool_use: isSingle } = readObject(value, 'tool_choice');
  const parallel_tool_calls = isSingle !== true;
  if (type === 'none') return { tool_choice: 'none' };
  if (tools.length === 0) throw new BadRequest('There are no tools to choose from.', 'tool_choice');
  if (type === 'auto') return { tool_choice: 'auto', parallel_tool_calls };
  if (type === 'any') return { tool_choice: 'required', parallel_tool_calls };
  const tool = tools.find(({ function: declared }) => declared.name === name);
  if (type !== 'tool' || !tool) throw new BadRequest('Unknown tool choice.', 'tool_choice');
  const choice = { type: 'function', function: { name: tool.function.name } } as const;
  return { tool_choice: choice, parallel_tool_calls };
}

function readStop(value: unknown): readonly string[] | null {
  if (value === undefined) return null;
  return readArray(value, 'stop_sequences').map((word, index) => {
    const path = `stop_sequences.${index}`;
    const read = readString(word, path);
    if (read.trim() === '') throw new BadRequest('It must not be blank.', path);
    return read;
  });
}

const efforts = new Set(['low', 'medium', 'high', 'xhigh', 'max']);

function readFormat(value: unknown): NonNullable<ChatRequest['response_format']> | null {
  if (value === undefined) return null;
  const { format, effort } = readObject(value, 'output_config');
  if (effort != null && !efforts.has(readString(effort, 'output_config.effort')))
    throw new BadRequest('Unknown effort.', 'output_config.effort');
  if (format == null) return null;
  const { type, schema } = readObject(format, 'output_config.format');
  if (type !== 'json_schema')
    throw new BadRequest('The type must be "json_schema".', 'output_config.format.type');
  const described = readObject(schema, 'output_config.format.schema');
  return { type, json_schema: { schema: described } };
}
