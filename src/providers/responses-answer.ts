/** Non-streamed answers of the Responses API, documented at platform.openai.com/docs/api-reference/responses/object. */
import type { ErrorCode } from '../errors.ts';
import {
  type AnswerItem,
  type ChatAnswer,
  type FinishReason,
  maxToolCalls,
  type TextPart,
  type ToolCall,
} from './chat.ts';
import { madeCallId } from './openai-tool-calls.ts';
import { reasoningSignature, reasoningText } from './responses-reasoning.ts';
import { readResponsesUsage } from './responses-usage.ts';
import { isTooDeep } from './tool-arguments.ts';
import { ProviderError, type Upstream, unreadableArguments } from './upstream.ts';
import { type Fields, isObject, objectAt } from './wire.ts';

/** Items of unknown types are not part of the answer. */
export function readAnswer(body: unknown, upstream: Upstream): ChatAnswer {
  if (!isObject(body)) throw new ProviderError('provider_unknown_error');
  if (isObject(body.error) || body.status === 'failed') throw new ProviderError(failureOf(body));
  if (!Array.isArray(body.output)) throw new ProviderError('provider_unknown_error');
  const items: AnswerItem[] = [];
  let callCount = 0;
  let isRefused = false;
  for (const item of body.output as readonly unknown[]) {
    if (!isObject(item)) throw new ProviderError('provider_unknown_error');
    switch (item.type) {
      case 'message':
        for (const part of partsOf(item)) {
          isRefused ||= part.type === 'refusal';
          items.push(textOf(part));
        }
        break;
      case 'function_call':
      case 'custom_tool_call':
        items.push(readCall(item, callCount, upstream.requestId));
        callCount += 1;
        if (callCount > maxToolCalls) throw unreadableArguments();
        break;
      case 'reasoning':
        if (upstream.showsReasoning === true)
          items.push({
            type: 'reasoning',
            text: reasoningText(item),
            signature: reasoningSignature(item, upstream.maker),
          });
        break;
    }
  }
  const { status } = body;
  if (status !== 'completed' && status !== 'incomplete') throw new ProviderError('provider_unknown_error');
  const finishReason = finishOf(status, body, callCount > 0, isRefused);
  return { items, finishReason, usage: readResponsesUsage(objectAt(body, 'usage')) };
}

function failureOf(body: Fields): ErrorCode {
  switch (objectAt(body, 'error')?.code) {
    case 'rate_limit_exceeded':
      return 'provider_rate_limit';
    case 'server_error':
      return 'provider_unavailable';
    default:
      return 'provider_unknown_error';
  }
}

/** The parts with text. A refusal is one too: it is all that the model says. */
function partsOf({ content }: Fields): readonly Fields[] {
  if (!Array.isArray(content) || !content.every(isObject)) throw new ProviderError('provider_unknown_error');
  return content.filter(({ type }) => type === 'output_text' || type === 'refusal');
}

function textOf(part: Fields): TextPart {
  const text = part.type === 'refusal' ? part.refusal : part.text;
  if (typeof text !== 'string') throw new ProviderError('provider_unknown_error');
  return { type: 'text', text };
}

/** The input of a custom tool is free text in place of arguments. Only clients of this format can offer one. */
function readCall(item: Fields, index: number, requestId: string): ToolCall {
  const { call_id: id, name } = item;
  const written = item.type === 'function_call' ? item.arguments : item.input;
  if (typeof name !== 'string' || name === '') throw new ProviderError('provider_unknown_error');
  if (typeof written !== 'string' || isTooDeep(written)) throw unreadableArguments();
  return {
    type: 'tool_call',
    id: typeof id === 'string' && id !== '' ? id : madeCallId(requestId, index),
    name,
    arguments: written,
  };
}

/** Why the answer ends. */
export function finishOf(
  status: 'completed' | 'incomplete',
  response: Fields,
  hasCalls: boolean,
  isRefused: boolean,
): FinishReason {
  if (status === 'incomplete')
    return objectAt(response, 'incomplete_details')?.reason === 'content_filter'
      ? 'content_filter'
      : 'length';
  if (isRefused) return 'content_filter';
  return hasCalls ? 'tool_calls' : 'stop';
}
