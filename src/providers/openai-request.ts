/**
 * Requests in OpenAI's format. Documented at platform.openai.com/docs/api-reference/chat; what differs between vendors
 * is in the provider's dialect.
 */
import {
  type AnswerItem,
  type ChatCall,
  type ChatMessage,
  type Effort,
  hasStrictTool,
  type ImagePart,
  type ResponseFormat,
  type TextPart,
  type Tool,
  type ToolCall,
  type ToolChoice,
  type ToolResult,
  textOfParts,
  textOrNull,
  toolCallsOf,
} from './chat.ts';
import { effortFor, type ReasoningSupport } from './effort.ts';
import { identityFields } from './end-user.ts';
import { readOpenaiError } from './operator-faults.ts';
import { breakpoint, endOfLastCall, wantsCache } from './prompt-cache.ts';
import {
  type Dialect,
  requestHeaders,
  type Unsupported,
  type Upstream,
  type UpstreamRequest,
} from './upstream.ts';

export function unsupported(
  call: ChatCall,
  { images, strictTools }: Dialect,
  reasoning?: ReasoningSupport | null,
): Unsupported | null {
  if (images === 'data' && call.messages.some(namesImage))
    return { param: 'messages', message: 'This model takes images as data: URLs only.' };
  if (strictTools === 'unsupported' && hasStrictTool(call))
    return {
      param: 'tools',
      message: 'This model has no strict tools: leave strict out, or set it to false.',
    };
  if (call.demandsEffort === true && reasoning && wireEffort(call, reasoning) === undefined)
    return {
      param: 'reasoning_effort',
      message: `With tools, this model takes no such reasoning_effort: ${withTools(reasoning)}.`,
    };
  return null;
}

function withTools({ effortsWithTools }: ReasoningSupport): string {
  return effortsWithTools.length === 0
    ? 'leave it out'
    : `use ${effortsWithTools.join(' or ')}, or leave it out`;
}

function wireEffort(call: ChatCall, reasoning: ReasoningSupport | null | undefined): Effort | undefined {
  const effort = effortFor(call, reasoning);
  const isTaken =
    call.tools === null || effort === null || reasoning?.effortsWithTools.includes(effort) === true;
  return isTaken ? (effort ?? undefined) : undefined;
}

/** Whether an image is given by URL instead of inline. */
function namesImage(message: ChatMessage): boolean {
  if ((message.role !== 'user' && message.role !== 'tool') || typeof message.content === 'string')
    return false;
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
    readError: readOpenaiError,
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
  const messages = wireMessages(call.messages, upstream);
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
    reasoning_effort: wireEffort(call, upstream.reasoning),
    verbosity: upstream.takesVerbosity === true ? (call.verbosity ?? undefined) : undefined,
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

/**
 * The format has no images in tool messages: they follow as a user's, once all results of the turn are there, because
 * nothing may come between those. What a model thought before it was cut off says nothing to another.
 */
function wireMessages(messages: readonly ChatMessage[], upstream: Upstream): WireMessage[] {
  const wire: WireMessage[] = [];
  let images: object[] = [];
  let resultCount = 0;
  for (const message of messages) {
    if (message.role !== 'tool') {
      if (images.length > 0) wire.push({ role: 'user', content: images });
      images = [];
      resultCount = 0;
    }
    if (message.role === 'assistant' && isOnlyReasoning(message.items)) continue;
    wire.push(wireMessage(message, upstream));
    if (message.role === 'tool') for (const part of labelledImages(message, ++resultCount)) images.push(part);
  }
  if (images.length > 0) wire.push({ role: 'user', content: images });
  return wire;
}

function isOnlyReasoning(items: readonly AnswerItem[]): boolean {
  return items.length > 0 && items.every(({ type }) => type === 'reasoning');
}

/** `place` is that of the result among the results of its turn. */
function labelledImages({ content }: ToolResult, place: number): readonly object[] {
  const images = typeof content === 'string' ? [] : content.filter((part) => part.type === 'image');
  return images.length === 0
    ? []
    : [{ type: 'text', text: `Images of tool result ${place}:` }, ...images.map(wirePart)];
}

function wireMessage(message: ChatMessage, upstream: Upstream): WireMessage {
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
        reasoning_content: wireReasoning(message.items, upstream),
      };
    case 'tool':
      return {
        role: 'tool',
        tool_call_id: message.toolCallId,
        content: wireResult(message),
        name: message.name ?? undefined,
      };
  }
}

/** The format has no mark for a failed tool. */
function wireResult({ content, isError }: ToolResult): string {
  const text = typeof content === 'string' ? content : textOfParts(content);
  return isError ? `Error: ${text}` : text;
}

/**
 * DeepSeek and Moonshot reject a turn that calls tools without the reasoning that led to it, even an empty one. Clients of
 * chat completions are not shown any, so that they cannot return it.
 */
function wireReasoning(
  items: readonly AnswerItem[],
  { dialect, showsReasoning, maker }: Upstream,
): string | undefined {
  if (dialect.reasoning === 'none' || showsReasoning !== true) return undefined;
  const own = items.flatMap((item) =>
    item.type === 'reasoning' && item.signature?.madeBy === maker ? [item.text] : [],
  );
  return own.length === 0 && toolCallsOf(items).length === 0 ? undefined : own.join('\n');
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
