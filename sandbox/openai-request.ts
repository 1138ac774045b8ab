/** Parses a chat completion request as strictly as OpenAI. Documented at platform.openai.com/docs/api-reference/chat. */

import { type ChatRequest, checkToolResults } from './chat-request.ts';
import { BadRequest } from './errors.ts';
import { isObject, readArray, readBody } from './fields.ts';

const knownFields = new Set([
  'audio',
  'frequency_penalty',
  'function_call',
  'functions',
  'logit_bias',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'metadata',
  'modalities',
  'model',
  'moderation',
  'n',
  'parallel_tool_calls',
  'prediction',
  'presence_penalty',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  // Mistral uses this format with another name for the seed.
  'random_seed',
  'reasoning_effort',
  'response_format',
  'safety_identifier',
  'seed',
  'service_tier',
  'stop',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'user',
  'verbosity',
  'web_search_options',
]);
const choices: readonly (readonly [string, ReadonlySet<string>])[] = [
  ['reasoning_effort', new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])],
  ['verbosity', new Set(['low', 'medium', 'high'])],
];
const roles = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function']);

export function readOpenaiChat(body: unknown): ChatRequest {
  const fields = readBody(body, knownFields);
  const { model, messages, tools, tool_choice, stream, stream_options } = fields;
  if (typeof model !== 'string' || model === '') throw new BadRequest('A model is required.', 'model');
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isMessage)) {
    throw new BadRequest('At least one message is required, each with a role and text or parts.', 'messages');
  }
  if (tools != null && !readArray(tools, 'tools').every(isTool)) {
    throw new BadRequest('A tool must be a function with a valid name.', 'tools');
  }
  if (
    isObject(tool_choice) &&
    !(isObject(tool_choice.function) && typeof tool_choice.function.name === 'string')
  ) {
    throw new BadRequest('A tool choice must be a string or a function with a name.', 'tool_choice');
  }
  for (const [name, allowed] of choices) {
    const value = fields[name] ?? null;
    if (value !== null && !(typeof value === 'string' && allowed.has(value)))
      throw new BadRequest('Unknown value.', name);
  }
  if (stream_options != null && stream !== true) {
    throw new BadRequest('Only allowed with "stream".', 'stream_options');
  }
  const request = fields as unknown as ChatRequest;
  checkToolResults(request.messages);
  return request;
}

function isMessage(message: unknown): boolean {
  if (!isObject(message) || typeof message.role !== 'string' || !roles.has(message.role)) return false;
  const { content, role, tool_calls: calls } = message;
  if (calls !== undefined && !(Array.isArray(calls) && calls.length > 0 && calls.every(isCall))) return false;
  if (content == null) return role === 'assistant';
  if (!Array.isArray(content)) return typeof content === 'string';
  // Only a user shows images.
  return content.every((part) => isObject(part) && (role === 'user' || part.type === 'text'));
}

function isCall(call: unknown): boolean {
  if (!isObject(call) || call.type !== 'function' || typeof call.id !== 'string') return false;
  const { function: called } = call;
  return isObject(called) && typeof called.name === 'string' && typeof called.arguments === 'string';
}

function isTool(tool: unknown): boolean {
  if (!isObject(tool) || tool.type !== 'function' || !isObject(tool.function)) return false;
  const { name } = tool.function;
  return typeof name === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(name);
}
