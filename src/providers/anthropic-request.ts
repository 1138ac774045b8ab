/**
 * A chat call as a request of Anthropic's Messages API, documented at platform.claude.com/docs/en/api/messages.
 * anthropic-unsupported.ts has already rejected whatever the format does not support.
 */
import { isMadeBy, isThinking, wireReasoning, wireThinking } from './anthropic-thinking.ts';
import type {
  AnswerItem,
  ChatCall,
  ChatMessage,
  Effort,
  ImagePart,
  JsonObject,
  ResponseFormat,
  TextPart,
  Tool,
  ToolCall,
  ToolResult,
} from './chat.ts';
import { identityFields } from './end-user.ts';
import { readMessagesError } from './operator-faults.ts';
import { breakpoint, wantsCache } from './prompt-cache.ts';
import { readArguments } from './tool-arguments.ts';
import { requestHeaders, type Upstream, type UpstreamRequest } from './upstream.ts';

export function chatRequest(call: ChatCall, upstream: Upstream, stream: boolean): UpstreamRequest {
  return {
    url: `${upstream.baseUrl}/messages`,
    headers: requestHeaders(upstream, {
      'anthropic-version': '2023-06-01',
      ...(upstream.apiKey === null ? {} : { 'x-api-key': upstream.apiKey }),
    }),
    body: JSON.stringify(requestBody(call, upstream, stream)),
    readError: readMessagesError,
  };
}

/**
 * What the client left out is left out here too: `undefined` is not serialized. What a conversation begins with comes
 * first, in the order in which the provider reads it.
 */
function requestBody(call: ChatCall, upstream: Upstream, stream: boolean): object {
  const { model, maxOutputTokens, marksCache, maker, endUser } = upstream;
  const tools = call.tools?.map(wireTool);
  const system = wireSystem(call.messages);
  const turns = wireTurns(call.messages, maker);
  const { thinking, effort } = wireReasoning(call, upstream);
  if (marksCache === true && wantsCache(call)) setBreakpoints(tools, system, turns);
  return {
    model,
    tools,
    system,
    messages: turns,
    max_tokens: maxOutputTokens ?? undefined,
    temperature: call.temperature ?? undefined,
    top_p: call.topP ?? undefined,
    stop_sequences: call.stop ?? undefined,
    tool_choice: wireToolChoice(call),
    thinking,
    output_config: wireOutputConfig(call.responseFormat, effort),
    ...identityFields(endUser),
    stream: stream || undefined,
  };
}

/**
 * Only some models accept instructions mid-conversation, and only in some places. All accept them at the beginning, where
 * a new one changes what the provider has in its cache.
 */
function wireSystem(messages: readonly ChatMessage[]): Block[] | undefined {
  const blocks = messages.flatMap((message) =>
    message.role === 'system' ? [textBlock(message.content)] : [],
  );
  return blocks.length === 0 ? undefined : blocks;
}

/**
 * At most four are allowed. Tools and instructions may be the same in other conversations, and the next turn begins with
 * this one, as this one does with the last: its results may be more blocks than the provider looks back.
 */
function setBreakpoints(
  tools: Block[] | undefined,
  system: Block[] | undefined,
  turns: readonly Turn[],
): void {
  const [last, beforeLast] = turns.filter(({ role }) => role === 'user').toReversed();
  for (const blocks of [tools, system, beforeLast?.content, last?.content]) {
    const end = blocks?.at(-1);
    if (end !== undefined) blocks?.splice(-1, 1, { ...end, cache_control: breakpoint });
  }
}

type Block = Readonly<Record<string, unknown>>;
type Turn = Readonly<{ role: 'user' | 'assistant'; content: Block[] }>;

/**
 * There are only two roles, and consecutive messages of one role form one turn. So tool results come first in the turn
 * that follows their calls, as the format demands, and what the user adds comes after them.
 */
function wireTurns(messages: readonly ChatMessage[], maker: string | undefined): readonly Turn[] {
  const turns: Turn[] = [];
  const uses = new Map<string, number>();
  for (const message of messages) {
    if (message.role === 'system') continue;
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    if (role === 'user') endAnswer(turns);
    let turn = turns.at(-1);
    if (turn?.role !== role) {
      turn = { role, content: [] };
      turns.push(turn);
    }
    for (const block of wireBlocks(message, uses, maker)) turn.content.push(block);
  }
  return turns;
}

/** The format rejects a turn that ends with thinking, and one without content. */
function endAnswer(turns: Turn[]): void {
  const last = turns.at(-1);
  if (last?.role !== 'assistant') return;
  while (isThinking(last.content.at(-1))) last.content.pop();
  if (last.content.length === 0) turns.pop();
}

/** `uses` counts how often each call ID has been used so far. A result belongs to the latest use. */
function wireBlocks(
  message: Exclude<ChatMessage, { role: 'system' }>,
  uses: Map<string, number>,
  maker: string | undefined,
): readonly Block[] {
  switch (message.role) {
    case 'user':
      return typeof message.content === 'string'
        ? [textBlock(message.content)]
        : message.content.map(wirePart);
    case 'assistant':
      return message.items.flatMap((item) => wireItem(item, uses, maker));
    case 'tool':
      return [
        {
          type: 'tool_result',
          tool_use_id: wireId(message.toolCallId, uses.get(message.toolCallId) ?? 1),
          content: wireResult(message),
          is_error: message.isError || undefined,
        },
      ];
  }
}

/** The format rejects empty text blocks, and next to calls an empty text means nothing. */
function wireItem(item: AnswerItem, uses: Map<string, number>, maker: string | undefined): readonly Block[] {
  if (item.type === 'tool_call') return [wireToolUse(item, uses)];
  if (item.type === 'reasoning') return isMadeBy(item, maker) ? [wireThinking(item)] : [];
  return isBlank(item.text) ? [] : [textBlock(item.text)];
}

/** The format rejects empty text blocks in here too, and an error that says nothing. */
function wireResult({ content, isError }: ToolResult): string | readonly Block[] | undefined {
  const silent = isError ? 'The tool failed.' : undefined;
  if (typeof content === 'string') return isBlank(content) ? silent : content;
  const parts = content.filter((part) => part.type === 'image' || !isBlank(part.text));
  return parts.length === 0 ? silent : parts.map(wirePart);
}

function wireToolUse({ id, name, arguments: text }: ToolCall, uses: Map<string, number>): Block {
  const use = (uses.get(id) ?? 0) + 1;
  uses.set(id, use);
  return { type: 'tool_use', id: wireId(id, use), name, input: readArguments(text) };
}

const ownPrefix = 'recoded-';

/**
 * The format allows few characters in IDs and wants them unique in the conversation. Any other ID is encoded: the same
 * way in the call and its result, and differently for different IDs.
 */
function wireId(id: string, use: number): string {
  if (use === 1 && /^[a-zA-Z0-9_-]+$/.test(id) && !id.startsWith(ownPrefix)) return id;
  return `${ownPrefix}${use}-${Buffer.from(id, 'utf16le').toString('base64url')}`;
}

export const isBlank = (text: string): boolean => text.trim() === '';

function textBlock(text: string): Block {
  return { type: 'text', text };
}

function wirePart(part: TextPart | ImagePart): Block {
  if (part.type === 'text') return textBlock(part.text);
  const mediaType = sentMediaType(part.url);
  const source =
    mediaType === null
      ? { type: 'url', url: part.url }
      : { type: 'base64', media_type: mediaType, data: part.url.slice(part.url.indexOf(',') + 1) };
  return { type: 'image', source };
}

/** The media type of a data URL; null for an image that the provider has to fetch. Only the head is read. */
export function sentMediaType(url: string): string | null {
  return /^data:([^;,]*)/i.exec(url.slice(0, 100))?.[1]?.toLowerCase() ?? null;
}

function wireTool(tool: Tool): Block {
  const { name, description, strict } = tool;
  return {
    name,
    description: description ?? undefined,
    strict: strict === true || undefined,
    input_schema: inputSchema(tool),
  };
}

/** A schema without a type means an object, because arguments always are one. With `strict` every object is closed. */
export function inputSchema({ parameters, strict }: Tool): JsonObject {
  if (parameters !== null) return { type: 'object', ...parameters };
  return { type: 'object', properties: {}, ...(strict === true && { additionalProperties: false }) };
}

function wireToolChoice({ tools, toolChoice, parallelToolCalls }: ChatCall): object | undefined {
  if (tools === null) return undefined;
  // The format has no setting for parallel calls here.
  if (toolChoice === 'none') return { type: 'none' };
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (typeof toolChoice === 'object' && toolChoice !== null)
    return { type: 'tool', name: toolChoice.functionName, ...single };
  if (toolChoice === 'required') return { type: 'any', ...single };
  return toolChoice === 'auto' || parallelToolCalls === false ? { type: 'auto', ...single } : undefined;
}

/** The format has no field for the name of a schema, and treats every schema as strict. */
function wireOutputConfig(format: ResponseFormat | null, effort: Effort | undefined): object | undefined {
  if (format?.type !== 'json_schema' || format.schema === null)
    return effort === undefined ? undefined : { effort };
  const { description } = format;
  const schema = description === null ? format.schema : { description, ...format.schema };
  return { effort, format: { type: 'json_schema', schema } };
}
