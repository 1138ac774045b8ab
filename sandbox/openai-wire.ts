/** OpenAI's format: serialises chat completions and errors, with extra fields that a gateway has to drop. */

import type { Answer, ToolCall } from './chat-answer.ts';
import { type Failure, privateDetail, privateHeaders } from './errors.ts';
import { type ChatFormat, type Head, isGoodKey, type StreamOutline } from './format.ts';
import type { ReportedUsage, TokenCounts } from './usage.ts';

export const openai: ChatFormat = {
  rejection,
  headers,
  errorBody,
  usageNames: { input: 'prompt_tokens', output: 'completion_tokens', total: 'total_tokens' },
  hasCacheWrites: true,
  reportUsage,
  contradictUsage,
  body,
  stream,
  frame: (payload) => `data: ${payload}\n\n`,
  endAfterError: '[DONE]',
};

const extras = { service_tier: 'default', system_fingerprint: 'fp_sandbox' };

function rejection(headers: Headers): Failure | null {
  const [scheme, key] = (headers.get('authorization') ?? '').split(' ');
  if (scheme === 'Bearer' && isGoodKey(key)) return null;
  return { status: 401, message: 'Incorrect API key provided.' };
}

function headers(number: number, contentType: string): Record<string, string> {
  return {
    'content-type': contentType,
    'x-request-id': `req_sandbox_${number}`,
    'openai-organization': 'sandbox-organization',
    'openai-processing-ms': '1',
    ...privateHeaders,
  };
}

function errorBody({ status, message, param = null }: Failure): string {
  const { type, code } = errorKind(status);
  return JSON.stringify({ error: { message: `${message} (${privateDetail})`, type, param, code } });
}

function errorKind(status: number): { type: string; code: string | null } {
  if (status === 401) return { type: 'invalid_request_error', code: 'invalid_api_key' };
  if (status === 403) return { type: 'invalid_request_error', code: 'access_denied' };
  if (status === 404) return { type: 'invalid_request_error', code: 'not_found' };
  if (status === 429) return { type: 'requests', code: 'rate_limit_exceeded' };
  if (status === 529) return { type: 'overloaded_error', code: 'overloaded' };
  if (status >= 500) return { type: 'server_error', code: null };
  return { type: 'invalid_request_error', code: null };
}

/** Cached tokens, read or written, are part of the prompt, reasoning tokens part of the completion. */
function reportUsage(counts: TokenCounts): ReportedUsage {
  const { inputTokens, outputTokens, cachedTokens, writtenTokens, writtenLongTokens, reasoningTokens } =
    counts;
  const written = writtenTokens + writtenLongTokens;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      cached_tokens: cachedTokens,
      audio_tokens: 0,
      ...(written > 0 && {
        cache_write_tokens: written,
        cache_write_tokens_details: { ttl_30m_tokens: writtenTokens, ttl_12h_tokens: writtenLongTokens },
      }),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** More is read from the cache than there is. */
function contradictUsage(usage: ReportedUsage): ReportedUsage {
  const details = usage.prompt_tokens_details as object;
  const cached_tokens = Number(usage.prompt_tokens) + 1;
  return { ...usage, prompt_tokens_details: { ...details, cached_tokens } };
}

function body(head: Head, answer: Answer, usage: ReportedUsage | null): string {
  const called = answer.toolCalls.length > 0;
  const message = {
    role: 'assistant',
    content: called ? null : answer.pieces.join(''),
    ...(called && { tool_calls: answer.toolCalls.map((call, index) => wireCall(head, call, index)) }),
    refusal: null,
    annotations: [],
  };
  return JSON.stringify({
    id: completionId(head),
    object: 'chat.completion',
    created: head.createdSeconds,
    model: head.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: answer.finishReason }],
    ...(usage && { usage }),
    ...extras,
  });
}

/** The role, one chunk per piece, the finish reason and, last, the usage if there is any. */
function stream(head: Head, answer: Answer, usage: ReportedUsage | null, interleave: boolean): StreamOutline {
  // The constant parts of a chunk are serialised once; only the delta is serialised for each.
  const start = JSON.stringify({
    id: completionId(head),
    object: 'chat.completion.chunk',
    created: head.createdSeconds,
    model: head.model,
    ...extras,
  }).slice(0, -1);
  const before = `${start},"choices":[{"index":0,"delta":`;
  const after = ',"logprobs":null,"finish_reason":null}]}';
  const called = answer.toolCalls.length > 0;
  const payloads = [
    `${before}{"role":"assistant","content":${called ? 'null' : '""'},"refusal":null}${after}`,
  ];
  for (const piece of answer.pieces) payloads.push(`${before}{"content":${JSON.stringify(piece)}}${after}`);
  for (const delta of toolCallDeltas(head, answer.toolCalls, interleave)) {
    payloads.push(`${before}{"tool_calls":[${JSON.stringify(delta)}]}${after}`);
  }
  payloads.push(`${before}{},"logprobs":null,"finish_reason":${JSON.stringify(answer.finishReason)}}]}`);
  const upToFinish = payloads.length;
  if (usage) payloads.push(`${start},"choices":[],"usage":${JSON.stringify(usage)}}`);
  return {
    payloads,
    upToContent: (count) => 1 + Math.min(count, answer.tokens),
    upToFinish,
    end: '[DONE]',
  };
}

function toolCallDeltas(head: Head, calls: readonly ToolCall[], interleave: boolean): readonly unknown[] {
  const perCall = calls.map((call, index) => [
    { ...wireCall(head, call, index), index, function: { name: call.name, arguments: '' } },
    ...call.argumentPieces.map((piece) => ({ index, function: { arguments: piece } })),
  ]);
  if (!interleave) return perCall.flat();
  const rounds = Math.max(0, ...perCall.map((deltas) => deltas.length));
  return Array.from({ length: rounds }, (_, round) =>
    perCall.flatMap((deltas) => deltas.slice(round, round + 1)),
  ).flat();
}

function wireCall(head: Head, call: ToolCall, index: number) {
  const id = `call_sandbox_${head.number}_${index}`;
  return { id, type: 'function', function: { name: call.name, arguments: call.argumentPieces.join('') } };
}

function completionId({ number }: Head): string {
  return `chatcmpl-sandbox-${number}`;
}
