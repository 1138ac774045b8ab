/** Anthropic's format: serialises messages, their events and errors. */

import type { Answer, ToolCall } from './chat-answer.ts';
import { type Failure, privateDetail, privateHeaders } from './errors.ts';
import { argumentsOf, type ChatFormat, type Head, isGoodKey, type StreamOutline } from './format.ts';
import type { ReportedUsage, TokenCounts } from './usage.ts';

export const anthropic: ChatFormat = {
  rejection,
  headers,
  errorBody,
  usageNames: { input: 'input_tokens', output: 'output_tokens', total: null },
  hasCacheWrites: true,
  reportUsage,
  contradictUsage,
  body,
  stream,
  frame,
  endAfterError: null,
};

const versions = new Set(['2023-01-01', '2023-06-01']);
const signature = Buffer.from('A signature of the sandbox.').toString('base64');

function rejection(headers: Headers): Failure | null {
  if (!isGoodKey(headers.get('x-api-key'))) return { status: 401, message: 'invalid x-api-key' };
  if (versions.has(headers.get('anthropic-version') ?? '')) return null;
  return { status: 400, message: 'A valid version is required.', param: 'anthropic-version' };
}

function headers(number: number, contentType: string): Record<string, string> {
  return {
    'content-type': contentType,
    'request-id': requestId(number),
    'anthropic-organization-id': 'sandbox-organization',
    ...privateHeaders,
  };
}

function errorBody({ status, message, param = null }: Failure, number: number): string {
  const text = `${param === null ? '' : `${param}: `}${message} (${privateDetail})`;
  const error = { type: errorType(status), message: text };
  return JSON.stringify({ type: 'error', error, request_id: requestId(number) });
}

const errorTypes: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

function errorType(status: number): string {
  return errorTypes.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/** Input tokens exclude those read from the cache or written to it; output tokens include thinking. */
function reportUsage(counts: TokenCounts): ReportedUsage {
  const { inputTokens, outputTokens, cachedTokens, writtenTokens, writtenLongTokens, reasoningTokens } =
    counts;
  const written = writtenTokens + writtenLongTokens;
  return {
    input_tokens: inputTokens - cachedTokens - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cachedTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: writtenTokens,
      ephemeral_1h_input_tokens: writtenLongTokens,
    },
    output_tokens: outputTokens,
    ...(reasoningTokens > 0 && { output_tokens_details: { thinking_tokens: reasoningTokens } }),
    service_tier: 'standard',
  };
}

/** More is written to the cache than its parts add up to. */
function contradictUsage(usage: ReportedUsage): ReportedUsage {
  return { ...usage, cache_creation_input_tokens: Number(usage.cache_creation_input_tokens) + 1 };
}

function body(head: Head, answer: Answer, usage: ReportedUsage | null): string {
  return JSON.stringify({
    ...opening(head),
    content: contentBlocks(head, answer),
    ...stopOf(answer),
    ...(usage && { usage }),
  });
}

function contentBlocks(head: Head, { thoughtPieces, pieces, toolCalls }: Answer): readonly object[] {
  const blocks: object[] = [];
  if (thoughtPieces.length > 0)
    blocks.push({ type: 'thinking', thinking: thoughtPieces.join(''), signature });
  if (pieces.length > 0) blocks.push({ type: 'text', text: pieces.join('') });
  for (const [index, call] of toolCalls.entries()) {
    blocks.push({ ...toolUse(head, call, index), input: argumentsOf(call) });
  }
  return blocks;
}

function stream(head: Head, answer: Answer, usage: ReportedUsage | null): StreamOutline {
  const message = { ...opening(head), content: [], stop_reason: null, stop_sequence: null };
  const payloads = [
    event('message_start', { message: { ...message, ...(usage && { usage: usageAtStart(usage) }) } }),
    event('ping', {}),
  ];
  /** For each payload with content, the number of payloads up to and including it. */
  const contentEnds: number[] = [];
  const content = (payload: string) => contentEnds.push(payloads.push(payload));
  let index = 0;

  const { thoughtPieces, pieces, toolCalls } = answer;
  if (thoughtPieces.length > 0) {
    payloads.push(blockStart(index, { type: 'thinking', thinking: '', signature: '' }));
    for (const thinking of thoughtPieces) payloads.push(delta(index, { type: 'thinking_delta', thinking }));
    payloads.push(delta(index, { type: 'signature_delta', signature }), blockStop(index));
    index += 1;
  }
  if (pieces.length > 0) {
    payloads.push(blockStart(index, { type: 'text', text: '' }));
    for (const text of pieces) content(delta(index, { type: 'text_delta', text }));
    payloads.push(blockStop(index));
    index += 1;
  }
  for (const [callIndex, call] of toolCalls.entries()) {
    // As in the other formats, the name counts as a piece of a call. The first piece of its input is always empty.
    content(blockStart(index, { ...toolUse(head, call, callIndex), input: {} }));
    payloads.push(delta(index, { type: 'input_json_delta', partial_json: '' }));
    for (const piece of call.argumentPieces) {
      content(delta(index, { type: 'input_json_delta', partial_json: piece }));
    }
    payloads.push(blockStop(index));
    index += 1;
  }
  payloads.push(event('message_delta', { delta: stopOf(answer), ...(usage && usageAtEnd(usage)) }));
  const openingCount = 2;
  return {
    payloads,
    upToContent: (count) => contentEnds[Math.min(count, contentEnds.length) - 1] ?? openingCount,
    upToFinish: payloads.length,
    end: event('message_stop', {}),
  };
}

/** At the start only the input is known; any output is reported as one token. */
function usageAtStart({ output_tokens: output, output_tokens_details: _, ...usage }: ReportedUsage): object {
  return output === undefined ? usage : { ...usage, output_tokens: output === 0 ? 0 : 1 };
}

function usageAtEnd({ output_tokens, output_tokens_details }: ReportedUsage): object {
  return output_tokens === undefined ? {} : { usage: { output_tokens, output_tokens_details } };
}

const stopReasons: ReadonlyMap<string, string> = new Map([
  ['stop', 'end_turn'],
  ['length', 'max_tokens'],
  ['tool_calls', 'tool_use'],
  ['content_filter', 'refusal'],
]);

function stopOf({ finishReason, stopSequence }: Answer) {
  if (finishReason === 'stop' && stopSequence !== null) {
    return { stop_reason: 'stop_sequence', stop_sequence: stopSequence };
  }
  return { stop_reason: stopReasons.get(finishReason) ?? finishReason, stop_sequence: null };
}

function opening({ number, model }: Head) {
  return { id: `msg_sandbox_${number}`, type: 'message', role: 'assistant', model };
}

function toolUse({ number }: Head, { name }: ToolCall, index: number) {
  return { type: 'tool_use', id: `toolu_sandbox_${number}_${index}`, name };
}

function blockStart(index: number, block: object): string {
  return event('content_block_start', { index, content_block: block });
}

function delta(index: number, change: object): string {
  return event('content_block_delta', { index, delta: change });
}

function blockStop(index: number): string {
  return event('content_block_stop', { index });
}

function event(type: string, fields: object): string {
  return JSON.stringify({ type, ...fields });
}

/** An event is named after the type in its data. Malformed data gets the most common name. */
function frame(payload: string): string {
  const [, name = 'content_block_delta'] = /^\{"type":"([a-z_]+)"/.exec(payload) ?? [];
  return `event: ${name}\ndata: ${payload}\n\n`;
}

function requestId(number: number): string {
  return `req_sandbox_${number}`;
}
