/**
 * The wire format of OpenAI's chat completions, which most other vendors speak as well.
 * Documented at platform.openai.com/docs/api-reference/chat.
 */
import type {
  ChatAdapter,
  ChatAnswer,
  ChatCall,
  ChatEvent,
  ChatMessage,
  FinishReason,
  ResponseFormat,
  TokenUsage,
  ToolCall,
  ToolChoice,
} from './chat.ts';
import { ProviderError, type Upstream, type UpstreamRequest } from './upstream.ts';
import { arrayAt, type Fields, isCount, isObject, objectAt, parseObject } from './wire.ts';

export const openai: ChatAdapter = { refusal, chatRequest, readAnswer, openReader };

function refusal(): null {
  return null;
}

function chatRequest(call: ChatCall, upstream: Upstream, stream: boolean): UpstreamRequest {
  return {
    url: `${upstream.baseUrl}/chat/completions`,
    headers: {
      'content-type': 'application/json',
      // What is compressed cannot be bounded by the length it announces.
      'accept-encoding': 'identity',
      'x-client-request-id': upstream.generationId,
      ...(upstream.apiKey === null ? {} : { authorization: `Bearer ${upstream.apiKey}` }),
    },
    body: JSON.stringify(requestBody(call, upstream.model, stream)),
  };
}

/** What the client left out is left out here too: `undefined` does not become part of the JSON. */
function requestBody(call: ChatCall, model: string, stream: boolean): object {
  return {
    model,
    messages: call.messages.map(wireMessage),
    temperature: call.temperature ?? undefined,
    max_tokens: call.maxTokens ?? undefined,
    top_p: call.topP ?? undefined,
    stop: call.stop ?? undefined,
    presence_penalty: call.presencePenalty ?? undefined,
    tools: call.tools?.map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description: description ?? undefined, parameters: parameters ?? undefined },
    })),
    tool_choice: call.toolChoice === null ? undefined : wireToolChoice(call.toolChoice),
    parallel_tool_calls: call.parallelToolCalls ?? undefined,
    response_format: call.responseFormat === null ? undefined : wireResponseFormat(call.responseFormat),
    seed: call.seed ?? undefined,
    stream: stream || undefined,
    // Usage is always asked for: without it nothing could be charged.
    stream_options: stream ? { include_usage: true } : undefined,
  };
}

function wireMessage(message: ChatMessage): object {
  switch (message.role) {
    case 'system':
      return message;
    case 'user':
      return {
        role: 'user',
        content: typeof message.content === 'string' ? message.content : message.content.map(wirePart),
      };
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content,
        tool_calls: message.toolCalls.length === 0 ? undefined : message.toolCalls.map(wireToolCall),
      };
    case 'tool':
      return {
        role: 'tool',
        tool_call_id: message.toolCallId,
        content: message.content,
        name: message.name ?? undefined,
      };
  }
}

function wirePart(part: Exclude<Extract<ChatMessage, { role: 'user' }>['content'], string>[number]): object {
  if (part.type === 'text') return part;
  return { type: 'image_url', image_url: { url: part.url, detail: part.detail ?? undefined } };
}

function wireToolCall({ id, name, arguments: text }: ToolCall): object {
  return { id, type: 'function', function: { name, arguments: text } };
}

function wireToolChoice(choice: ToolChoice): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.functionName } };
}

function wireResponseFormat(format: ResponseFormat): object {
  if (format.type !== 'json_schema') return format;
  const { name, description, schema, strict } = format;
  return {
    type: 'json_schema',
    json_schema: {
      name,
      description: description ?? undefined,
      schema: schema ?? undefined,
      strict: strict ?? undefined,
    },
  };
}

function readAnswer(body: unknown): ChatAnswer {
  const choice = firstChoice(body);
  const message = objectAt(choice, 'message');
  if (choice === null || message === null) throw new ProviderError('provider_unknown_error');
  const toolCalls = arrayAt(message, 'tool_calls').map(readToolCall);
  const content = message.content ?? null;
  if (content !== null && typeof content !== 'string') throw new ProviderError('provider_unknown_error');
  const finishReason = readFinishReason(choice.finish_reason);
  if (finishReason === null) throw new ProviderError('provider_unknown_error');
  return { content, toolCalls, finishReason, usage: readUsage(objectAt(body, 'usage')) };
}

function readToolCall(item: unknown): ToolCall {
  const call = objectAt(item, 'function');
  const id = isObject(item) ? item.id : null;
  if (
    call === null ||
    typeof id !== 'string' ||
    typeof call.name !== 'string' ||
    typeof call.arguments !== 'string'
  ) {
    throw new ProviderError('provider_unknown_error');
  }
  return { id, name: call.name, arguments: call.arguments };
}

function openReader(): (data: string) => readonly ChatEvent[] {
  const known = new Set<number>();
  return (data) => {
    if (data === '[DONE]') return [{ type: 'end' }];
    const chunk = parseObject(data);
    if (chunk === null) throw new ProviderError('malformed_stream_chunk');
    if (chunk.error !== undefined && chunk.error !== null) throw new ProviderError('provider_stream_error');
    const events: ChatEvent[] = [];
    const choice = firstChoice(chunk);
    if (choice !== null) readChoice(choice, known, events);
    if (isObject(chunk.usage)) {
      const usage = readUsage(chunk.usage);
      if (usage !== null) events.push({ type: 'usage', usage });
    }
    return events;
  };
}

function readChoice(choice: Fields, known: Set<number>, events: ChatEvent[]): void {
  const delta = choice.delta;
  if (isObject(delta)) {
    if (typeof delta.content === 'string' && delta.content !== '')
      events.push({ type: 'text', text: delta.content });
    if (Array.isArray(delta.tool_calls))
      for (const item of delta.tool_calls) readToolDelta(item, known, events);
  }
  const reason = readFinishReason(choice.finish_reason);
  if (reason !== null) events.push({ type: 'finish', reason });
}

const mostToolIndex = 1_000;

/** Only the first piece of a call carries its ID and name. */
function readToolDelta(item: unknown, known: Set<number>, events: ChatEvent[]): void {
  const call = objectAt(item, 'function');
  const index = isObject(item) ? (item.index ?? 0) : 0;
  if (!isCount(index) || index > mostToolIndex) throw new ProviderError('malformed_stream_chunk');
  if (isObject(item) && !known.has(index)) {
    if (typeof item.id !== 'string' || typeof call?.name !== 'string')
      throw new ProviderError('malformed_stream_chunk');
    known.add(index);
    events.push({ type: 'tool_call', index, id: item.id, name: call.name });
  }
  const text = call?.arguments ?? '';
  if (typeof text !== 'string') throw new ProviderError('malformed_stream_chunk');
  if (text !== '') events.push({ type: 'tool_arguments', index, text });
}

/** Reasoning tokens are part of completion_tokens and cached ones of prompt_tokens, so each is counted once. */
function readUsage(usage: Fields | null): TokenUsage | null {
  const input = usage?.prompt_tokens;
  const output = usage?.completion_tokens;
  return isCount(input) && isCount(output) ? { inputTokens: input, outputTokens: output } : null;
}

function readFinishReason(reason: unknown): FinishReason | null {
  switch (reason) {
    case 'stop':
    case 'length':
    case 'tool_calls':
    case 'content_filter':
      return reason;
    case 'function_call':
      return 'tool_calls';
    default:
      // A reason that is new to us still ends the answer.
      return typeof reason === 'string' ? 'stop' : null;
  }
}

function firstChoice(body: unknown): Fields | null {
  const choices = arrayAt(body, 'choices');
  // One choice is asked for; whatever else a provider sends is not part of the answer.
  const choice = choices.find((one) => isObject(one) && (one.index ?? 0) === 0);
  return isObject(choice) ? choice : null;
}
