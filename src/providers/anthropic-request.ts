/**
 * A chat call as a request of Anthropic's Messages API, documented at platform.claude.com/docs/en/api/messages.
 * What the format cannot carry has been refused before, in anthropic-unsupported.ts.
 */
import type { ChatCall, ChatMessage, ImagePart, ResponseFormat, TextPart, Tool, ToolCall } from './chat.ts';
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
  };
}

/** What the client left out is left out here too: `undefined` does not become part of the JSON. */
function requestBody(call: ChatCall, { model, maxOutputTokens }: Upstream, stream: boolean): object {
  return {
    model,
    max_tokens: maxOutputTokens ?? undefined,
    system: wireSystem(call.messages),
    messages: wireTurns(call.messages),
    temperature: call.temperature ?? undefined,
    top_p: call.topP ?? undefined,
    stop_sequences: call.stop ?? undefined,
    tools: call.tools?.map(wireTool),
    tool_choice: wireToolChoice(call),
    output_config: wireOutputConfig(call.responseFormat),
    stream: stream || undefined,
  };
}

/** Only some models take instructions in mid-conversation, and only in some places. All take them at the beginning. */
function wireSystem(messages: readonly ChatMessage[]): readonly Block[] | undefined {
  const blocks = messages.flatMap((message) =>
    message.role === 'system' ? [textBlock(message.content)] : [],
  );
  return blocks.length === 0 ? undefined : blocks;
}

type Block = Readonly<Record<string, unknown>>;
type Turn = Readonly<{ role: 'user' | 'assistant'; content: Block[] }>;

/**
 * There are only two roles, and messages of one role in a row are one turn. So the results of tools come first in the
 * turn that follows their calls, as the format demands, and what the user adds comes after them.
 */
function wireTurns(messages: readonly ChatMessage[]): readonly Turn[] {
  const turns: Turn[] = [];
  const uses = new Map<string, number>();
  for (const message of messages) {
    if (message.role === 'system') continue;
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    let turn = turns.at(-1);
    if (turn?.role !== role) {
      turn = { role, content: [] };
      turns.push(turn);
    }
    for (const block of wireBlocks(message, uses)) turn.content.push(block);
  }
  return turns;
}

/** `uses` counts how often each ID of a call has been given so far. A result belongs to the latest of them. */
function wireBlocks(
  message: Exclude<ChatMessage, { role: 'system' }>,
  uses: Map<string, number>,
): readonly Block[] {
  switch (message.role) {
    case 'user':
      return typeof message.content === 'string'
        ? [textBlock(message.content)]
        : message.content.map(wirePart);
    case 'assistant': {
      // Empty text is no block of the format; next to calls it says nothing.
      const text = message.content === null || isBlank(message.content) ? [] : [textBlock(message.content)];
      return [...text, ...message.toolCalls.map((call) => wireToolUse(call, uses))];
    }
    case 'tool':
      return [
        {
          type: 'tool_result',
          tool_use_id: wireId(message.toolCallId, uses.get(message.toolCallId) ?? 1),
          content: isBlank(message.content) ? undefined : message.content,
        },
      ];
  }
}

function wireToolUse({ id, name, arguments: text }: ToolCall, uses: Map<string, number>): Block {
  const use = (uses.get(id) ?? 0) + 1;
  uses.set(id, use);
  return { type: 'tool_use', id: wireId(id, use), name, input: readArguments(text) };
}

const ownPrefix = 'recoded-';

/**
 * IDs must consist of a few characters and be unique in the conversation. Others, and those that are given again, are
 * spelled out in these characters: the same in the call and its result, and different for what is different.
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

/** The kind of an image that is sent along; null when the provider is to fetch it. Only the head is looked at. */
export function sentMediaType(url: string): string | null {
  return /^data:([^;,]*)/i.exec(url.slice(0, 100))?.[1]?.toLowerCase() ?? null;
}

/** A schema that leaves out its type means an object, because arguments always are one. */
function wireTool({ name, description, parameters }: Tool): object {
  return {
    name,
    description: description ?? undefined,
    input_schema: { type: 'object', ...(parameters ?? { properties: {} }) },
  };
}

function wireToolChoice({ tools, toolChoice, parallelToolCalls }: ChatCall): object | undefined {
  if (tools === null) return undefined;
  // No calls at all are not parallel either: the format has no such setting there.
  if (toolChoice === 'none') return { type: 'none' };
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (typeof toolChoice === 'object' && toolChoice !== null)
    return { type: 'tool', name: toolChoice.functionName, ...single };
  return toolChoice === 'auto' || parallelToolCalls === false ? { type: 'auto', ...single } : undefined;
}

/** The format has no place for the name of a schema, and takes every schema strictly. */
function wireOutputConfig(format: ResponseFormat | null): object | undefined {
  if (format?.type !== 'json_schema' || format.schema === null) return undefined;
  const { description, schema } = format;
  return {
    format: {
      type: 'json_schema',
      schema: description === null ? schema : { description, ...schema },
    },
  };
}
