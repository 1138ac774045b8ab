/** Turns unknown JSON into a ChatRequest, or an error that names the parameter. Nothing is clamped, nothing ignored. */
import { z } from 'zod';
import { formatPath, type JsonPath, valueAt } from '../../json/path.ts';
import { firstProblem, type Problem, toApiError } from '../../json/problem.ts';
import type {
  AnswerItem,
  ChatMessage,
  ImagePart,
  ResponseFormat,
  TextPart,
  Tool,
  ToolChoice,
} from '../../providers/chat.ts';
import type { ChatRequest } from '../request.ts';
import { chatRequestSchema, type WireChatRequest, type WireContentPart, type WireMessage } from './schema.ts';

/** `includeUsage` is whether a stream ends with the usage. */
export type AskedOfCompletions = Readonly<{ includeUsage: boolean }>;

/** Compiled, a valid body is checked in a sixth of the time; an invalid one is checked again to find what is wrong. */
const schema = z.compile(chatRequestSchema, { strict: true });

/** Checks the shape first, then the relations between fields, in the order of the contract whatever the body's order. */
export function parseChat(body: unknown): ChatRequest<AskedOfCompletions> {
  const result = schema.safeParse(body);
  if (!result.success) throw toApiError(asContracted(firstProblem(result.error.issues, body), body));
  const wire = result.data;
  const problem = conversationProblem(wire.messages) ?? toolsProblem(wire) ?? streamProblem(wire);
  if (problem !== null) throw toApiError(problem);
  return toRequest(wire);
}

/** Where the contract requires another code or param than the path of the problem implies. */
function asContracted(problem: Problem, body: unknown): Problem {
  const [field] = problem.path;
  if (field === 'tools')
    return { code: 'invalid_parameter', path: ['tools'], message: problem.message, docs: 'chat#tools' };
  if (field === 'tool_choice' && (body as WireChatRequest).tool_choice === ('required' as string))
    return {
      code: 'unsupported_parameter',
      path: ['tool_choice'],
      message: 'The tool_choice "required" is not supported: use "auto" or name a function.',
      docs: 'clients#tool-choice',
    };
  return helpful(problem, body);
}

/** Adds the likely fix to problems that clients of other APIs run into. The code and the param stay the same. */
function helpful(problem: Problem, body: unknown): Problem {
  const { path, code } = problem;
  if (path.length === 1 && code === 'unsupported_parameter') return { ...problem, ...unsupportedHelp(path) };
  if (path[0] !== 'messages') return { ...problem, docs: 'chat#parameters' };
  const [, , field] = path;
  if (field === 'role' && valueAt(body, path) === 'developer')
    return {
      ...problem,
      message: `The role "developer" of ${formatPath(path.slice(0, 2))} is not supported: use "system".`,
      docs: 'clients#messages',
    };
  return { ...problem, docs: code === 'unsupported_parameter' ? 'clients#messages' : 'chat#messages' };
}

function unsupportedHelp([name]: JsonPath): Partial<Problem> {
  if (name === 'max_completion_tokens')
    return {
      message:
        'The parameter max_completion_tokens is not supported: use max_tokens. Your client may have renamed it.',
      docs: 'clients#max-tokens',
    };
  return { docs: 'clients#rejected-parameters' };
}

function conversationProblem(messages: readonly WireMessage[]): Problem | null {
  const calledIds = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const problem =
      message.role === 'assistant'
        ? assistantProblem(message, index, calledIds)
        : message.role === 'tool' && !calledIds.has(message.tool_call_id)
          ? invalid(
              ['messages', index, 'tool_call_id'],
              'No earlier assistant message holds a tool call with this ID.',
            )
          : null;
    if (problem !== null) return problem;
  }
  return null;
}

/** Adds the message's calls to those that a later tool message may answer. */
function assistantProblem(
  message: Extract<WireMessage, { role: 'assistant' }>,
  index: number,
  calledIds: Set<string>,
): Problem | null {
  if (message.tool_calls == null) {
    if (typeof message.content === 'string') return null;
    const expected = 'An assistant message without tool_calls needs content.';
    const path = ['messages', index, 'content'];
    return message.content === null
      ? invalid(path, expected)
      : { code: 'missing_required_parameter', path, message: expected };
  }
  const ownIds = new Set<string>();
  for (const [callIndex, { id }] of message.tool_calls.entries()) {
    if (ownIds.has(id))
      return invalid(
        ['messages', index, 'tool_calls', callIndex, 'id'],
        'Another tool call of this message has the same ID.',
      );
    ownIds.add(id);
    calledIds.add(id);
  }
  return null;
}

function toolsProblem(wire: WireChatRequest): Problem | null {
  const { tools = [], tool_choice: choice } = wire;
  const names = new Set(tools.map((tool) => tool.function.name));
  if (names.size < tools.length) return invalid(['tools'], 'Two tools have the same function name.');
  if (typeof choice === 'object' && !names.has(choice.function.name))
    return invalid(['tool_choice'], 'The function named by tool_choice is not declared in tools.');
  if (wire.parallel_tool_calls === true && tools.length === 0)
    return invalid(['parallel_tool_calls'], 'The parameter parallel_tool_calls needs at least one tool.');
  return null;
}

function streamProblem(wire: WireChatRequest): Problem | null {
  return wire.stream_options != null && wire.stream !== true
    ? invalid(['stream_options'], 'The parameter stream_options is allowed only with "stream": true.')
    : null;
}

function invalid(path: Problem['path'], message: string): Problem {
  const docs = path[0] === 'messages' ? 'chat#messages' : 'chat#parameters';
  return { code: 'invalid_parameter', path, message, docs };
}

function toRequest(wire: WireChatRequest): ChatRequest<AskedOfCompletions> {
  const tools = wire.tools === undefined || wire.tools.length === 0 ? null : wire.tools.map(toTool);
  return {
    model: wire.model,
    stream: wire.stream === true,
    call: {
      messages: wire.messages.map(toMessage),
      temperature: wire.temperature ?? null,
      maxTokens: wire.max_tokens ?? null,
      topP: wire.top_p ?? null,
      stop: typeof wire.stop === 'string' ? [wire.stop] : (wire.stop ?? null),
      presencePenalty: wire.presence_penalty ?? null,
      tools,
      // How to use tools means nothing without any, and some providers reject it then.
      toolChoice: tools === null || wire.tool_choice === undefined ? null : toToolChoice(wire.tool_choice),
      parallelToolCalls: tools === null ? null : (wire.parallel_tool_calls ?? null),
      responseFormat: wire.response_format === undefined ? null : toResponseFormat(wire.response_format),
      seed: wire.seed ?? null,
      effort: null,
      verbosity: null,
    },
    outputLimit: null,
    original: null,
    asked: { includeUsage: wire.stream_options?.include_usage === true },
  };
}

function toMessage(wire: WireMessage): ChatMessage {
  switch (wire.role) {
    case 'system':
      return { role: 'system', content: wire.content };
    case 'user':
      return {
        role: 'user',
        content: typeof wire.content === 'string' ? wire.content : wire.content.map(toPart),
      };
    case 'assistant':
      return {
        role: 'assistant',
        items: toItems(wire),
      };
    case 'tool':
      return {
        role: 'tool',
        toolCallId: wire.tool_call_id,
        content: wire.content,
        name: wire.name ?? null,
        isError: false,
      };
  }
}

function toItems({ content, tool_calls: calls }: Extract<WireMessage, { role: 'assistant' }>): AnswerItem[] {
  const text: AnswerItem[] = content == null ? [] : [{ type: 'text', text: content }];
  const called = calls?.map(({ id, function: { name, arguments: written } }) => ({
    type: 'tool_call' as const,
    id,
    name,
    arguments: written,
  }));
  return called == null ? text : [...text, ...called];
}

function toPart(wire: WireContentPart): TextPart | ImagePart {
  return wire.type === 'text'
    ? { type: 'text', text: wire.text }
    : { type: 'image', url: wire.image_url.url, detail: wire.image_url.detail ?? null };
}

function toTool({ function: declared }: NonNullable<WireChatRequest['tools']>[number]): Tool {
  const { name, description = null, parameters = null, strict = null } = declared;
  return { name, description, parameters, strict };
}

function toToolChoice(wire: NonNullable<WireChatRequest['tool_choice']>): ToolChoice {
  return typeof wire === 'string' ? wire : { functionName: wire.function.name };
}

function toResponseFormat(wire: NonNullable<WireChatRequest['response_format']>): ResponseFormat {
  if (wire.type !== 'json_schema') return { type: wire.type };
  const { name, description = null, schema: jsonSchema = null, strict } = wire.json_schema;
  return { type: 'json_schema', name, description, schema: jsonSchema, strict: strict ?? null };
}
