/**
 * The wire format of Google's Gemini API: the answers of `generateContent` and its stream.
 * Documented at ai.google.dev/api/generate-content.
 */
import {
  type AnswerItem,
  type ChatAdapter,
  type ChatAnswer,
  type ChatEvent,
  type FinishReason,
  failed,
  maxToolCalls,
} from './chat.ts';
import { type Carried, callId, chatRequest } from './google-request.ts';
import { unsupported } from './google-unsupported.ts';
import { readGoogleUsage } from './google-usage.ts';
import { writeArguments } from './tool-arguments.ts';
import { beyondLimit, ProviderError, type Upstream, unreadableArguments } from './upstream.ts';
import { arrayAt, type Fields, isObject, objectAt, parseJson, parseObject } from './wire.ts';

export const google: ChatAdapter = {
  format: 'generate_content',
  passOn: null,
  unsupported,
  chatRequest,
  readAnswer,
  readUsage: (body) => readGoogleUsage(objectAt(body, 'usageMetadata')),
  openReader,
  hasUniformText: false,
};

function readAnswer(body: unknown, { requestId, showsReasoning }: Upstream): ChatAnswer {
  if (!isObject(body) || isError(body)) throw new ProviderError('provider_unknown_error');
  const usage = readGoogleUsage(objectAt(body, 'usageMetadata'));
  const candidate = firstCandidate(body);
  if (candidate === null && isBlocked(body)) return { items: [], finishReason: 'content_filter', usage };
  if (candidate === null) throw new ProviderError('provider_unknown_error');
  const pieces = readPieces(candidate, showsReasoning === true);
  if (pieces.some(({ type }) => type === 'unreadable')) throw unreadableArguments();
  const items: AnswerItem[] = [];
  let callCount = 0;
  for (const piece of pieces) {
    if (piece.type === 'text') items.push(piece);
    if (piece.type === 'reasoning') addReasoning(items, piece.text);
    if (piece.type !== 'call') continue;
    if (callCount >= maxToolCalls) throw unreadableArguments();
    const { name, arguments: written, carried } = piece;
    items.push({ type: 'tool_call', id: callId(requestId, callCount, carried), name, arguments: written });
    callCount += 1;
  }
  const finishReason = readFinishReason(candidate.finishReason, callCount > 0);
  if (finishReason === null) throw new ProviderError('provider_unknown_error');
  if (finishReason === 'failure') throw new ProviderError('provider_unknown_error', { isProvoked: true });
  return { items, finishReason, usage };
}

/** Thoughts that follow one another are one item. The vendor signs calls instead of them: see `Carried`. */
function addReasoning(items: AnswerItem[], text: string): void {
  const last = items.at(-1);
  if (last?.type === 'reasoning') items[items.length - 1] = { ...last, text: last.text + text };
  else items.push({ type: 'reasoning', text, signature: null });
}

/** Each event is a complete object that holds what is new. Only the end of the connection marks the end. */
function openReader({ requestId, showsReasoning }: Upstream): (data: string) => readonly ChatEvent[] {
  let callCount = 0;
  let isThinking = false;
  let isFinished = false;
  /** An unreadable event may have been the end of the answer: from then on any count may cover all of it. */
  let mayBeFinished = false;

  function finish(event: ChatEvent, events: ChatEvent[]): void {
    endThinking(events);
    if (!isFinished) events.push(event);
    isFinished = true;
  }

  function endThinking(events: ChatEvent[]): void {
    if (isThinking) events.push({ type: 'reasoning_end', signature: null });
    isThinking = false;
  }

  function readCandidate(candidate: Fields, events: ChatEvent[]): void {
    for (const piece of readPieces(candidate, showsReasoning === true)) {
      if (piece.type === 'reasoning') {
        events.push(piece);
        isThinking = true;
        continue;
      }
      endThinking(events);
      if (piece.type === 'text') {
        events.push(piece);
        continue;
      }
      if (piece.type === 'unreadable' || callCount >= maxToolCalls) {
        events.push(failed(beyondLimit()));
        break;
      }
      const index = callCount++;
      events.push({
        type: 'tool_call',
        index,
        id: callId(requestId, index, piece.carried),
        name: piece.name,
      });
      events.push({ type: 'tool_arguments', index, text: piece.arguments });
    }
    const reason = readFinishReason(candidate.finishReason, callCount > 0);
    if (reason === 'failure') finish(failed(failedAnswer()), events);
    else if (reason !== null) finish({ type: 'finish', reason }, events);
  }

  return (data) => {
    const chunk = parseObject(data, parseJson);
    if (chunk === null) {
      mayBeFinished = true;
      throw new ProviderError('malformed_stream_chunk');
    }
    const events: ChatEvent[] = [];
    if (isError(chunk)) {
      events.push(failed(new ProviderError('provider_stream_error')));
      isFinished = true;
    }
    const candidate = firstCandidate(chunk);
    if (candidate !== null) readCandidate(candidate, events);
    else if (isBlocked(chunk)) finish({ type: 'finish', reason: 'content_filter' }, events);
    // Every event carries counts, but only the last ones cover the whole answer, even one that failed.
    const usage = isFinished || mayBeFinished ? readGoogleUsage(objectAt(chunk, 'usageMetadata')) : null;
    if (usage !== null) events.push({ type: 'usage', usage });
    return events;
  };
}

/** The model failed to answer this request; that does not mean that the provider is down. */
function failedAnswer(): ProviderError {
  return new ProviderError('provider_stream_error', { isProvoked: true });
}

type Piece =
  | Readonly<{ type: 'text'; text: string }>
  | Readonly<{ type: 'reasoning'; text: string }>
  /** A call whose arguments are invalid or nested too deeply. */
  | Readonly<{ type: 'unreadable' }>
  | Readonly<{ type: 'call'; name: string; arguments: string; carried: Carried }>;

/** The text and calls of a candidate, in order, and its thoughts if they are shown. */
function readPieces(candidate: Fields, showsReasoning: boolean): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const part of arrayAt(objectAt(candidate, 'content'), 'parts')) {
    if (!isObject(part)) continue;
    if (part.thought === true) {
      if (showsReasoning && isText(part.text)) pieces.push({ type: 'reasoning', text: part.text });
      continue;
    }
    if (typeof part.text === 'string' && part.text !== '') pieces.push({ type: 'text', text: part.text });
    if (part.functionCall === undefined || part.functionCall === null) continue;
    pieces.push(readCall(part) ?? { type: 'unreadable' });
  }
  return pieces;
}

/** Calls arrive whole. One without arguments may leave `args` out. */
function readCall(part: Fields): Piece | null {
  const call = objectAt(part, 'functionCall');
  const written = writeArguments(call?.args ?? {});
  if (call === null || !isText(call.name) || written === null) return null;
  return {
    type: 'call',
    name: call.name,
    arguments: written,
    carried: {
      signature: isText(part.thoughtSignature) ? part.thoughtSignature : null,
      upstreamId: isText(call.id) ? call.id : null,
    },
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** The content was blocked. */
const filters = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
  'ESCALATION',
]);

/** There is no answer, through the fault of the model, the vendor or this gateway, not of the client. */
const failures = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MALFORMED_RESPONSE',
  'MISSING_THOUGHT_SIGNATURE',
  'PUP_LIMITED_DISABLED',
]);

/** Null while the model has not stopped. Tool calls have no reason of their own: such an answer just stops. */
function readFinishReason(reason: unknown, hasCalls: boolean): FinishReason | 'failure' | null {
  if (!isText(reason) || reason === 'FINISH_REASON_UNSPECIFIED') return null;
  if (reason === 'MAX_TOKENS') return 'length';
  if (filters.has(reason)) return 'content_filter';
  if (failures.has(reason)) return 'failure';
  // An unknown reason still ends the answer, and so does OTHER, which is documented as unknown.
  return hasCalls ? 'tool_calls' : 'stop';
}

const isError = (body: Fields) => body.error !== undefined && body.error !== null;

/** A prompt that is blocked gets no candidate at all. */
const isBlocked = (body: Fields) => isText(objectAt(body, 'promptFeedback')?.blockReason);

function firstCandidate(body: Fields): Fields | null {
  const candidate = arrayAt(body, 'candidates')[0];
  return isObject(candidate) ? candidate : null;
}
