/**
 * The wire format of Anthropic's Messages API. Answers are documented at platform.claude.com/docs/en/api/messages,
 * streams at platform.claude.com/docs/en/build-with-claude/streaming.
 */

import { passOnMessages } from './anthropic-pass-on.ts';
import { chatRequest } from './anthropic-request.ts';
import { isThinking, signatureIn } from './anthropic-thinking.ts';
import { unsupported } from './anthropic-unsupported.ts';
import { type AnthropicInput, noInput, noteInput, readAnthropicUsage } from './anthropic-usage.ts';
import {
  type AnswerItem,
  type ChatAdapter,
  type ChatAnswer,
  type ChatEvent,
  type FinishReason,
  failed,
  maxToolCalls,
  type Signature,
  type ToolCall,
} from './chat.ts';
import { writeArguments } from './tool-arguments.ts';
import { beyondLimit, ProviderError, type Upstream, unreadableArguments } from './upstream.ts';
import { type Fields, isCount, isObject, objectAt, parseObject } from './wire.ts';

export const anthropic: ChatAdapter = {
  format: 'messages',
  passOn: passOnMessages({ readAnswer, openReader }),
  unsupported,
  chatRequest,
  readAnswer,
  readUsage: (body) => readAnthropicUsage(objectAt(body, 'usage')),
  openReader,
  hasUniformText: false,
};

/** Blocks of unknown types are not part of the answer, nor is thinking unless it is shown. */
function readAnswer(body: unknown, { showsReasoning, maker = '' }: Upstream): ChatAnswer {
  if (!isObject(body) || body.type === 'error' || !Array.isArray(body.content))
    throw new ProviderError('provider_unknown_error');
  const items: AnswerItem[] = [];
  let callCount = 0;
  for (const block of body.content as readonly unknown[]) {
    if (!isObject(block)) throw new ProviderError('provider_unknown_error');
    if (block.type === 'text')
      items.push({ type: 'text', text: textOf(block.text, 'provider_unknown_error') });
    if (showsReasoning === true && isThinking(block))
      items.push({
        type: 'reasoning',
        text: textOf(block.thinking ?? '', 'provider_unknown_error'),
        signature: signatureIn(block, maker),
      });
    if (block.type !== 'tool_use') continue;
    items.push(readToolUse(block));
    callCount += 1;
    if (callCount > maxToolCalls) throw unreadableArguments();
  }
  const finishReason = readStopReason(body.stop_reason);
  if (finishReason === null) throw new ProviderError('provider_unknown_error');
  return {
    items,
    finishReason,
    usage: readAnthropicUsage(objectAt(body, 'usage')),
  };
}

function readToolUse({ id, name, input }: Fields): ToolCall {
  const code = 'provider_unknown_error';
  const written = writeArguments(input);
  if (written === null) throw unreadableArguments();
  return { type: 'tool_call', id: textOf(id, code), name: textOf(name, code), arguments: written };
}

type ReadingError = 'provider_unknown_error' | 'malformed_stream_chunk';

function textOf(value: unknown, code: ReadingError): string {
  if (typeof value !== 'string') throw new ProviderError(code);
  return value;
}

/** A call whose block is still open. `rest` is what still has to be sent when the block ends. */
type OpenCall = { readonly index: number; rest: string };

/** The state that later events of a stream build on. */
type Progress = {
  /** By the index of their blocks, which also counts text blocks. */
  readonly openCalls: Map<number, OpenCall>;
  callCount: number;
  readonly input: AnthropicInput;
  /** Whose signatures are read; null when thinking is not shown. */
  readonly maker: string | null;
  /** The block of thinking that is still open. */
  thinking: OpenThinking | null;
};

type OpenThinking = { readonly index: number; signature: Signature | null };

function openReader({ showsReasoning, maker = '' }: Upstream): (data: string) => readonly ChatEvent[] {
  const progress: Progress = {
    openCalls: new Map(),
    callCount: 0,
    input: noInput(),
    maker: showsReasoning === true ? maker : null,
    thinking: null,
  };
  return (data) => {
    const event = parseObject(data);
    if (event === null) throw new ProviderError('malformed_stream_chunk');
    return readEvent(event, progress);
  };
}

/** Events of unknown types are ignored: the format reserves the right to add some. */
function readEvent(event: Fields, progress: Progress): readonly ChatEvent[] {
  switch (textOf(event.type, 'malformed_stream_chunk')) {
    case 'message_start':
      noteInput(progress.input, objectAt(event.message, 'usage'));
      return [];
    case 'content_block_start':
      return readBlockStart(event, progress);
    case 'content_block_delta':
      return readBlockDelta(event, progress);
    case 'content_block_stop':
      return readBlockStop(event, progress);
    case 'message_delta':
      return readMessageDelta(event, progress);
    case 'message_stop':
      return [{ type: 'end' }];
    case 'error':
      return [failed(new ProviderError('provider_stream_error'))];
    default:
      return [];
  }
}

function readBlockStart({ index, content_block: block }: Fields, progress: Progress): readonly ChatEvent[] {
  if (!isCount(index) || !isObject(block)) throw new ProviderError('malformed_stream_chunk');
  if (block.type === 'text') return textEvents(block.text ?? '');
  if (progress.maker !== null && isThinking(block)) {
    progress.thinking = { index, signature: signatureIn(block, progress.maker) };
    return thinkingEvents(block.thinking ?? '');
  }
  if (block.type !== 'tool_use') return [];
  const id = textOf(block.id, 'malformed_stream_chunk');
  const name = textOf(block.name, 'malformed_stream_chunk');
  // The input is usually empty here and follows in pieces. Without pieces, this is all of it.
  const rest = writeArguments(block.input ?? {});
  if (rest === null || progress.callCount >= maxToolCalls) return [failed(beyondLimit())];
  const call: OpenCall = { index: progress.callCount++, rest };
  progress.openCalls.set(index, call);
  return [{ type: 'tool_call', index: call.index, id, name }];
}

function readBlockDelta({ index, delta }: Fields, progress: Progress): readonly ChatEvent[] {
  if (!isCount(index) || !isObject(delta)) throw new ProviderError('malformed_stream_chunk');
  if (delta.type === 'text_delta') return textEvents(delta.text);
  const { openCalls, thinking, maker } = progress;
  if (thinking?.index === index && maker !== null) {
    if (delta.type === 'thinking_delta') return thinkingEvents(delta.thinking);
    if (delta.type === 'signature_delta') thinking.signature = signatureIn(delta, maker);
    return [];
  }
  const call = openCalls.get(index);
  if (delta.type !== 'input_json_delta' || call === undefined) return [];
  const text = textOf(delta.partial_json, 'malformed_stream_chunk');
  if (text === '') return [];
  call.rest = '';
  return [{ type: 'tool_arguments', index: call.index, text }];
}

function readBlockStop({ index }: Fields, progress: Progress): readonly ChatEvent[] {
  if (!isCount(index)) throw new ProviderError('malformed_stream_chunk');
  const { openCalls, thinking } = progress;
  if (thinking?.index === index) {
    progress.thinking = null;
    return [{ type: 'reasoning_end', signature: thinking.signature }];
  }
  const call = openCalls.get(index);
  openCalls.delete(index);
  return call === undefined || call.rest === ''
    ? []
    : [{ type: 'tool_arguments', index: call.index, text: call.rest }];
}

function textEvents(value: unknown): readonly ChatEvent[] {
  const text = textOf(value, 'malformed_stream_chunk');
  return text === '' ? [] : [{ type: 'text', text }];
}

function thinkingEvents(value: unknown): readonly ChatEvent[] {
  const text = textOf(value, 'malformed_stream_chunk');
  return text === '' ? [] : [{ type: 'reasoning', text }];
}

function readMessageDelta(event: Fields, progress: Progress): readonly ChatEvent[] {
  const events: ChatEvent[] = [];
  const reason = readStopReason(objectAt(event, 'delta')?.stop_reason);
  if (reason !== null) events.push({ type: 'finish', reason });
  const reported = objectAt(event, 'usage');
  noteInput(progress.input, reported);
  // The output tokens reported at the start of a stream are not those of the answer.
  const { output_tokens, output_tokens_details } = reported ?? {};
  const usage = readAnthropicUsage({ ...progress.input, output_tokens, output_tokens_details });
  if (usage !== null) events.push({ type: 'usage', usage });
  return events;
}

function readStopReason(reason: unknown): FinishReason | null {
  switch (reason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'tool_use':
      return 'tool_calls';
    case 'refusal':
      return 'content_filter';
    default:
      // The model ended its turn, hit a stop string, or has a reason that is unknown to us.
      return typeof reason === 'string' ? 'stop' : null;
  }
}
