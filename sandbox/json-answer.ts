/** Sends a JSON answer, with the transfer faults that apply to one. */

import { answerHeaders, type Call } from './endpoint.ts';
import { gzipWrites } from './gzip.ts';
import type { Scenario } from './scenario.ts';
import { cutBytes, joined, padText, type Transfer, transferBody, type Writes } from './transfer.ts';
import type { ReportedUsage } from './usage.ts';

export function sendJson(call: Call<unknown>, body: string, usage: ReportedUsage | null): Response {
  const { reading, record } = call;
  const { scenario } = reading;
  const headers = answerHeaders(call, scenario['wrong-type'] ? 'text/event-stream' : 'application/json');
  if (reading.written.length === 0) {
    record.finish(200, 'complete', usage);
    return new Response(body, { headers });
  }

  const transfer = planJson(body, usage, scenario);
  const { writes, ending, isComplete } = transfer;
  // A body sent in one piece has a content length, even if it is compressed.
  const isOnePiece = ending === 'end' && scenario.bytes === undefined && (writes.length < 2 || scenario.gzip);
  if (!isOnePiece) return new Response(transferBody(transfer, record), { headers });
  record.finish(200, isComplete ? 'complete' : 'ended_early', isComplete ? usage : null);
  return new Response(scenario.gzip ? joined(writes) : (writes[0] ?? ''), { headers });
}

function planJson(body: string, usage: ReportedUsage | null, scenario: Scenario): Transfer {
  const { cut, stall, end, malformed, empty, bytes, huge } = scenario;
  const isComplete = !empty && [cut, stall, end, malformed].every((position) => position === undefined);
  const text = isComplete ? body : body.slice(0, body.length / 2);
  const ending = cut !== undefined ? 'reset' : stall !== undefined ? 'stall' : 'end';
  const plain = empty ? [] : split(text, huge, bytes);
  const writes = scenario.gzip ? gzipWrites(plain, ending === 'end') : plain;
  // Padding comes first, so a padded body reports its usage with the last write.
  const writeIndex = huge === undefined ? 0 : writes.length - 1;
  const delayMs = scenario['chunk-delay'] ?? 0;
  return {
    writes,
    delayMs,
    ending,
    isComplete,
    usage: isComplete && usage ? { reported: usage, writeIndex } : null,
  };
}

function split(text: string, megabytes: number | undefined, bytes: number | undefined): Writes {
  if (megabytes !== undefined) return padText(text, megabytes);
  return bytes === undefined ? [text] : cutBytes(Buffer.from(text), bytes);
}
