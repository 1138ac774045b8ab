/**
 * A chat call as a request of OpenAI's Responses API, documented at platform.openai.com/docs/api-reference/responses/create,
 * and what that API has no field for.
 */
import { createHash } from 'node:crypto';
import {
  type AnswerItem,
  type ChatCall,
  type ChatMessage,
  hasStrictTool,
  type ImagePart,
  type Reasoning,
  type ResponseFormat,
  type TextPart,
  type Tool,
  type ToolChoice,
  type ToolResult,
} from './chat.ts';
import { effortFor } from './effort.ts';
import { identityFields } from './end-user.ts';
import { bearerHeaders } from './openai-request.ts';
import { readOpenaiError } from './operator-faults.ts';
import { readReasoningSignature } from './responses-reasoning.ts';
import type { Dialect, Unsupported, Upstream, UpstreamRequest } from './upstream.ts';

/** OpenAI rejects anything lower. */
export const minOutputTokens = 16;

export function unsupported(call: ChatCall, dialect: Dialect): Unsupported | null {
  const { stop, presencePenalty, seed, responseFormat } = call;
  if (dialect.images === 'data' && call.messages.some(namesImage))
    return lacking('messages', 'This model takes images as data: URLs only.');
  if (stop !== null) return lackingField('stop');
  if (presencePenalty !== null && presencePenalty !== 0) return lackingField('presence_penalty');
  if (dialect.strictTools === 'unsupported' && hasStrictTool(call))
    return lacking('tools', 'This model has no strict tools: leave strict out, or set it to false.');
  if (responseFormat?.type === 'json_schema' && responseFormat.schema === null)
    return lacking('response_format', 'This model needs the schema of the response format json_schema.');
  return seed === null ? null : lackingField('seed');
}

function lacking(param: string, message: string): Unsupported {
  return { param, message };
}

function lackingField(param: string): Unsupported {
  return lacking(param, `This model does not support ${param}: leave it out.`);
}

/** Whether an image is given by URL instead of inline. */
function namesImage(message: ChatMessage): boolean {
  if (message.role !== 'user' && message.role !== 'tool') return false;
  if (typeof message.content === 'string') return false;
  return message.content.some((part) => part.type === 'image' && !/^data:/i.test(part.url));
}

export function chatRequest(call: ChatCall, upstream: Upstream, stream: boolean): UpstreamRequest {
  return responsesRequest(upstream, requestBody(call, upstream, stream));
}

export function responsesRequest(upstream: Upstream, body: object): UpstreamRequest {
  return {
    url: `${upstream.baseUrl}/responses`,
    headers: bearerHeaders(upstream),
    body: JSON.stringify(body),
    readError: readOpenaiError,
  };
}

/**
 * What the client left out is left out here too: `undefined` is not serialized. What a conversation begins with comes
 * first.
 */
function requestBody(call: ChatCall, upstream: Upstream, stream: boolean): object {
  const { model, maxOutputTokens } = upstream;
  return {
    model,
    tools: call.tools?.map(wireTool),
    input: call.messages.flatMap((message) => wireItems(message, upstream)),
    temperature: call.temperature ?? undefined,
    // Always sent, because the hold covers no more than this.
    max_output_tokens: maxOutputTokens ?? undefined,
    top_p: call.topP ?? undefined,
    tool_choice: call.toolChoice === null ? undefined : wireToolChoice(call.toolChoice),
    parallel_tool_calls: call.parallelToolCalls ?? undefined,
    text: wireText(call, upstream),
    reasoning: wireReasoning(call, upstream),
    // Without it, reasoning could not be sent back: nothing is stored.
    include: wantsReasoning(upstream) ? ['reasoning.encrypted_content'] : undefined,
    prompt_cache_key: cacheKeyOf(upstream),
    store: false,
    stream: stream || undefined,
    ...identityFields(upstream.endUser),
  };
}

/** Every vendor has the same field here, also those that want a header for chat completions. */
export function cacheKeyOf({ dialect, cacheKey }: Upstream): string | undefined {
  return dialect.cacheKey === 'none' ? undefined : (cacheKey ?? undefined);
}

/** A tool that leaves `strict` out is strict here, unlike in chat completions. */
function wireTool({ name, description, parameters, strict }: Tool): object {
  return {
    type: 'function',
    name,
    description: description ?? undefined,
    parameters: parameters ?? { type: 'object', properties: {} },
    strict: strict === true,
  };
}

function wireToolChoice(choice: ToolChoice): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.functionName };
}

function wireText(
  { responseFormat, verbosity: asked }: ChatCall,
  { takesVerbosity }: Upstream,
): object | undefined {
  const verbosity = takesVerbosity === true ? asked : null;
  if (responseFormat === null && verbosity === null) return undefined;
  return {
    format: responseFormat === null ? undefined : wireFormat(responseFormat),
    verbosity: verbosity ?? undefined,
  };
}

function wireFormat(format: ResponseFormat): object {
  if (format.type !== 'json_schema') return format;
  const { name, description, schema, strict } = format;
  return {
    type: 'json_schema',
    name,
    description: description ?? undefined,
    schema,
    strict: strict === true,
  };
}

/** Models that do not reason reject every field about it. */
function wantsReasoning({ reasoning, showsReasoning }: Upstream): boolean {
  return reasoning != null && showsReasoning === true;
}

function wireReasoning(call: ChatCall, upstream: Upstream): object | undefined {
  const effort = effortFor(call, upstream.reasoning);
  const summary = wantsReasoning(upstream) ? 'auto' : undefined;
  return effort === null && summary === undefined ? undefined : { effort: effort ?? undefined, summary };
}

function wireItems(message: ChatMessage, upstream: Upstream): readonly object[] {
  switch (message.role) {
    case 'system':
      return [{ type: 'message', role: 'system', content: message.content }];
    case 'user': {
      const { content } = message;
      return [
        {
          type: 'message',
          role: 'user',
          content: typeof content === 'string' ? content : wireParts(content),
        },
      ];
    }
    case 'assistant':
      return message.items.flatMap((item) => wireItem(item, message.items.length > 1, upstream));
    case 'tool':
      return [
        {
          type: 'function_call_output',
          call_id: wireCallId(message.toolCallId),
          output: wireOutput(message),
        },
      ];
  }
}

/** Next to other items an empty text means nothing. */
function wireItem(item: AnswerItem, hasOthers: boolean, upstream: Upstream): readonly object[] {
  switch (item.type) {
    case 'text':
      return item.text === '' && hasOthers
        ? []
        : [{ type: 'message', role: 'assistant', content: item.text }];
    case 'tool_call': {
      const written = item.arguments.trim() === '' ? '{}' : item.arguments;
      return [{ type: 'function_call', call_id: wireCallId(item.id), name: item.name, arguments: written }];
    }
    case 'reasoning':
      return wireThought(item, upstream);
  }
}

/** Only whoever made it can read it. Others would reject it, so to them it is not sent. */
function wireThought({ text, signature }: Reasoning, { maker }: Upstream): readonly object[] {
  const opened = signature !== null && signature.madeBy === maker ? readReasoningSignature(signature) : null;
  if (opened === null) return [];
  return [{ type: 'reasoning', ...opened, summary: text === '' ? [] : [{ type: 'summary_text', text }] }];
}

const maxCallId = 64;

/** Longer ones, which another provider may have given, are recoded: the same way in the call and its result. */
function wireCallId(id: string): string {
  if (id.length <= maxCallId) return id;
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, 40)}`;
}

/** The format has no field for a failure of the tool. The model has to read it. */
function wireOutput({ content, isError }: ToolResult): string | readonly object[] {
  if (typeof content === 'string') return isError ? `Error: ${content}` : content;
  const parts = wireParts(content);
  return isError ? [{ type: 'input_text', text: 'Error:' }, ...parts] : parts;
}

function wireParts(parts: readonly (TextPart | ImagePart)[]): readonly object[] {
  return parts.map((part) =>
    part.type === 'text'
      ? { type: 'input_text', text: part.text }
      : { type: 'input_image', image_url: part.url, detail: part.detail ?? 'auto' },
  );
}
