/**
 * Requests in OpenAI's format. Documented at platform.openai.com/docs/api-reference/chat; what differs between vendors
 * is in the provider's dialect.
 */
import {
  type AnswerItem,
  type ChatCall,
  type ChatMessage,
  hasStrictTool,
  type ImagePart,
  type ResponseFormat,
  type TextPart,
  type Tool,
  type ToolCall,
  type ToolChoice,
  textOrNull,
  toolCallsOf,
} from './chat.ts';
import { identityFields } from './end-user.ts';
import { breakpoint, endOfLastCall, wantsCache } from './prompt-cache.ts';
import {
  type Dialect,
  requestHeaders,
  type Unsupported,
  type Upstream,
  type UpstreamRequest,
} from './upstream.ts';

export function unsupported(call: ChatCall, { images, strictTools }: Dialect): Unsupported | null {
  if (images === 'data' && call.messages.some(namesImage))
    return { param: 'messages', message: 'This model takes images as data: URLs only.' };
  if (strictTools === 'unsupported' && hasStrictTool(call))
    return {
      param: 'tools',
      message: 'This model has no strict tools: leave strict out, or set it to false.',
    };
  return null;
}

/** Whether an image is given by URL instead of inline. */
function namesImage(message: ChatMessage): boolean {
  if (message.role !== 'user' || typeof message.content === 'string') return false;
  return message.content.some((part) => part.type === 'image' && !/^data:/i.test(part.url));
}

export function chatRequest(call: ChatCall, upstream: Upstream, stream: boolean): UpstreamRequest {
  const { dialect, cacheKey } = upstream;
  const headers = bearerHeaders(upstream);
  if (dialect.cacheKey === 'x-grok-conv-id' && cacheKey) headers['x-grok-conv-id'] = cacheKey;
  return {
    url: `${upstream.baseUrl}/chat/completions`,
    headers,
    body: JSON.stringify(requestBody(call, upstream, stream)),
  };
}

export function bearerHeaders(upstream: Upstream): Record<string, string> {
  const { apiKey } = upstream;
  return requestHeaders(upstream, apiKey === null ? {} : { authorization: `Bearer ${apiKey}` });
}

/**
 * What the client left out is left out here too: `undefined` is not serialized. What a conversation begins with comes
 * first.
 */
function requestBody(call: ChatCall, upstream: Upstream, stream: boolean): object {
  const { model, dialect, maxOutputTokens, marksCache, cacheKey } = upstream;
  const messages = call.messages.map(wireMessage);
  if (marksCache === true && wantsCache(call)) setBreakpoints(messages);
  return {
    model,
    tools: call.tools?.map((tool) => wireTool(tool, dialect)),
    messages,
    temperature: call.temperature ?? undefined,
    // Always sent, because the hold covers no more than this.
    [dialect.maxTokens]: maxOutputTokens ?? undefined,
    top_p: call.topP ?? undefined,
    stop: call.stop ?? undefined,
    presence_penalty: call.presencePenalty ?? undefined,
    tool_choice: call.toolChoice === null ? undefined : wireToolChoice(call.toolChoice),
    parallel_tool_calls: call.parallelToolCalls ?? undefined,
    response_format: call.responseFormat === null ? undefined : wireResponseFormat(call.responseFormat),
    [dialect.seed]: call.seed ?? undefined,
    prompt_cache_key: dialect.cacheKey === 'prompt_cache_key' ? (cacheKey ?? undefined) : undefined,
    ...identityFields(upstream.endUser),
    stream: stream || undefined,
    // Without usage nothing could be charged. Vendors that always send it may reject the option, as Mistral does.
    stream_options: stream && dialect.streamUsage === 'asked' ? { include_usage: true } : undefined,
  };
}

function wireTool({ name, description, parameters, strict }: Tool, { strictTools }: Dialect): object {
  return {
    type: 'function',
    function: {
      name,
      description: description ?? undefined,
      parameters: parameters ?? undefined,
      strict: strictTools === 'supported' ? (strict ?? undefined) : undefined,
    },
  };
}

type WireMessage = Readonly<Record<string, unknown>> &
  Readonly<{ role: string; content: string | readonly object[] | null }>;

/**
 * In Alibaba Cloud's form, on parts of messages: at most four are allowed, and tools belong to the first of them. Other
 * conversations may have the same instructions, and the next turn begins with this one, as this one does with the last.
 */
function setBreakpoints(messages: WireMessage[]): void {
  const afterSystem = messages.findIndex(({ role }) => role !== 'system');
  const system = afterSystem < 0 ? messages.length - 1 : afterSystem - 1;
  for (const end of new Set([system, endOfLastCall(messages), messages.length - 1])) {
    // Not every message has a text to mark: the nearest one before it does as well.
    const place = messages.findLastIndex((message, index) => index <= end && markedParts(message) !== null);
    const message = messages[place];
    if (message !== undefined) messages[place] = { ...message, content: markedParts(message) };
  }
}

/** The content with a breakpoint after its last text; null when it has no text. */
function markedParts({ content }: WireMessage): readonly object[] | null {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : [...(content ?? [])];
  const end = parts.findLastIndex((part) => 'text' in part && part.text !== '');
  if (end < 0) return null;
  parts[end] = { ...parts[end], cache_control: breakpoint };
  return parts;
}

function wireMessage(message: ChatMessage): WireMessage {
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
        content: textOrNull(message.items),
        tool_calls: wireToolCalls(message.items),
      };
    case 'tool':
      return {
        role: 'tool',
        tool_call_id: message.toolCallId,
        content: typeof message.content === 'string' ? message.content : message.content.map(wirePart),
        name: message.name ?? undefined,
      };
  }
}

function wirePart(part: TextPart | ImagePart): object {
  if (part.type === 'text') return part;
  return { type: 'image_url', image_url: { url: part.url, detail: part.detail ?? undefined } };
}

function wireToolCalls(items: readonly AnswerItem[]): readonly object[] | undefined {
  const calls = toolCallsOf(items);
  return calls.length === 0 ? undefined : calls.map(wireToolCall);
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
