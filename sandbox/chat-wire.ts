/** A chat answer in OpenAI's wire format, with the extra fields that OpenAI sends and a gateway has to drop. */

import type { Answer, ToolCall } from './chat-answer.ts';
import type { ReportedUsage } from './usage.ts';

export type Head = { readonly number: number; readonly createdSeconds: number; readonly model: string };

const extras = { service_tier: 'default', system_fingerprint: 'fp_sandbox' };

export function completionBody(head: Head, answer: Answer, usage: ReportedUsage | null): string {
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

/** The JSON of each event: the role, one for each piece, the finish and, last, the usage if there is any. */
export function completionChunks(
  head: Head,
  answer: Answer,
  usage: ReportedUsage | null,
  interleave: boolean,
): readonly string[] {
  // What is the same in every chunk is written once; only the delta is encoded for each.
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
  if (usage) payloads.push(`${start},"choices":[],"usage":${JSON.stringify(usage)}}`);
  return payloads;
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
