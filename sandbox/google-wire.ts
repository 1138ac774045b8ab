/** Google's format for Gemini: serialises answers, the chunks of a stream and errors. */

import type { Answer } from './chat-answer.ts';
import { type Failure, privateDetail, privateHeaders } from './errors.ts';
import { argumentsOf, type ChatFormat, type Head, isGoodKey, type StreamOutline } from './format.ts';
import type { ReportedUsage, TokenCounts } from './usage.ts';

export const google: ChatFormat = {
  rejection,
  headers,
  errorBody,
  usageNames: { input: 'promptTokenCount', output: 'candidatesTokenCount', total: 'totalTokenCount' },
  hasCacheWrites: false,
  reportUsage,
  contradictUsage,
  body,
  stream,
  frame: (payload) => `data: ${payload}\r\n\r\n`,
  endAfterError: null,
};

const thoughtSignature = Buffer.from('A signature of the sandbox.').toString('base64');

function rejection(headers: Headers): Failure | null {
  return isGoodKey(headers.get('x-goog-api-key'))
    ? null
    : { status: 400, message: 'API key not valid.', reason: 'API_KEY_INVALID' };
}

function headers(_: number, contentType: string): Record<string, string> {
  return { 'content-type': contentType, 'server-timing': 'gfet4t7; dur=1', ...privateHeaders };
}

function errorBody({ status, message, param = null, retryAfter, reason }: Failure): string {
  const text = `${param === null ? '' : `${param}: `}${message} (${privateDetail})`;
  // Google puts the retry delay into the body.
  const details = [
    ...(reason
      ? [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' }]
      : []),
    ...(/^\d+$/.test(retryAfter ?? '')
      ? [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter}s` }]
      : []),
  ];
  return JSON.stringify({
    error: {
      code: status,
      message: text,
      status: statusName(status),
      ...(details.length > 0 && { details }),
    },
  });
}

const statusNames: ReadonlyMap<number, string> = new Map([
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [409, 'ABORTED'],
  [429, 'RESOURCE_EXHAUSTED'],
  [499, 'CANCELLED'],
  [500, 'INTERNAL'],
  [501, 'UNIMPLEMENTED'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
]);

function statusName(status: number): string {
  return statusNames.get(status) ?? (status >= 500 ? 'UNKNOWN' : 'INVALID_ARGUMENT');
}

/** Cached tokens are part of the prompt; thoughts are not part of the candidates. Zeros are omitted. */
function reportUsage(counts: TokenCounts): ReportedUsage {
  const { inputTokens, outputTokens, cachedTokens, reasoningTokens } = counts;
  const totalTokens = inputTokens + outputTokens;
  const candidatesTokens = outputTokens - reasoningTokens;
  return {
    promptTokenCount: inputTokens,
    // If a directive makes all of them zero, they are reported nevertheless.
    ...((candidatesTokens > 0 || totalTokens === 0) && { candidatesTokenCount: candidatesTokens }),
    totalTokenCount: totalTokens,
    ...(cachedTokens > 0 && { cachedContentTokenCount: cachedTokens }),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: inputTokens }],
    ...(reasoningTokens > 0 && { thoughtsTokenCount: reasoningTokens }),
  };
}

/** More is read from the cache than there is. */
function contradictUsage(usage: ReportedUsage): ReportedUsage {
  return { ...usage, cachedContentTokenCount: Number(usage.promptTokenCount) + 1 };
}

function body(head: Head, answer: Answer, usage: ReportedUsage | null): string {
  const { thoughtPieces, pieces } = answer;
  const parts = [
    ...(thoughtPieces.length > 0 ? [{ text: thoughtPieces.join(''), thought: true }] : []),
    ...(pieces.length > 0 ? [{ text: pieces.join('') }] : []),
    ...functionCalls(head, answer),
  ];
  const content = { ...(parts.length > 0 && { parts }), role: 'model' };
  return JSON.stringify({
    candidates: [{ content, finishReason: finishReasonOf(answer), index: 0 }],
    ...(usage && { usageMetadata: usage }),
    ...closing(head),
  });
}

/** Each call is one chunk. The last chunk has the finish reason and the usage. */
function stream(head: Head, answer: Answer, usage: ReportedUsage | null): StreamOutline {
  const before = '{"candidates":[{"content":{"parts":[';
  const soFar = usage ? `,"usageMetadata":${JSON.stringify(usageSoFar(usage))}` : '';
  const after = `],"role":"model"},"index":0}]${soFar},${JSON.stringify(closing(head)).slice(1)}`;
  const chunk = (part: object) => `${before}${JSON.stringify(part)}${after}`;

  const payloads = [chunk({ text: '' })];
  const openingCount = payloads.length;
  if (answer.thoughtPieces.length > 0) {
    payloads.push(chunk({ text: answer.thoughtPieces.join(''), thought: true }));
  }
  const contentStart = payloads.length;
  for (const text of answer.pieces) payloads.push(chunk({ text }));
  for (const call of functionCalls(head, answer)) payloads.push(chunk(call));
  const contentCount = payloads.length - contentStart;
  const last = { parts: [{ text: '' }], role: 'model' };
  payloads.push(
    JSON.stringify({
      candidates: [{ content: last, finishReason: finishReasonOf(answer), index: 0 }],
      ...(usage && { usageMetadata: usage }),
      ...closing(head),
    }),
  );
  return {
    payloads,
    upToContent: (count) => (count === 0 ? openingCount : contentStart + Math.min(count, contentCount)),
    upToFinish: payloads.length,
    end: null,
  };
}

/** Every chunk reports usage. Until the last one it covers only the prompt. */
function usageSoFar({ promptTokenCount, totalTokenCount }: ReportedUsage): object {
  return { promptTokenCount, ...(totalTokenCount !== undefined && { totalTokenCount: promptTokenCount }) };
}

/** Models from Gemini 3 on give each call an ID, sign the first one, and require the signature back. */
export function signsCalls(model: string): boolean {
  return /^gemini-(?:[3-9]|\d\d)/.test(model);
}

function functionCalls({ model, number }: Head, { toolCalls, thoughtPieces }: Answer): readonly object[] {
  const isSigned = signsCalls(model) || thoughtPieces.length > 0;
  return toolCalls.map((call, index) => ({
    functionCall: {
      ...(signsCalls(model) && { id: `call_sandbox_${number}_${index}` }),
      name: call.name,
      args: argumentsOf(call),
    },
    ...(isSigned && index === 0 && { thoughtSignature }),
  }));
}

const finishReasons: ReadonlyMap<string, string> = new Map([
  ['stop', 'STOP'],
  ['length', 'MAX_TOKENS'],
  ['tool_calls', 'STOP'],
  ['content_filter', 'SAFETY'],
]);

function finishReasonOf({ finishReason }: Answer): string {
  return finishReasons.get(finishReason) ?? finishReason;
}

function closing({ number, model }: Head) {
  return { modelVersion: model, responseId: `sandbox-${number}` };
}
