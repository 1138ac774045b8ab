/** Sends a JSON answer, with the transfer faults that make sense for one. */

import { answerHeaders, type Call } from './endpoint.ts';
import { gzipWrites } from './gzip.ts';
import type { Scenario } from './scenario.ts';
import { cutBytes, padText, type Transfer, transferBody, type Writes } from './transfer.ts';
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
  const { writes, ending, isWhole } = transfer;
  // What is sent in one piece says how long it is, also when it is compressed and the length says little.
  const isOnePiece = ending === 'end' && scenario.bytes === undefined && (writes.length < 2 || scenario.gzip);
  if (!isOnePiece) return new Response(transferBody(transfer, record), { headers });
  record.finish(200, isWhole ? 'complete' : 'ended_early', isWhole ? usage : null);
  return new Response(scenario.gzip ? Buffer.concat(writes.map(bytesOf)) : (writes[0] ?? ''), { headers });
}

function planJson(body: string, usage: ReportedUsage | null, scenario: Scenario): Transfer {
  const { cut, stall, end, malformed, empty, bytes, huge } = scenario;
  const isWhole = !empty && [cut, stall, end, malformed].every((position) => position === undefined);
  const text = isWhole ? body : body.slice(0, body.length / 2);
  const ending = cut !== undefined ? 'reset' : stall !== undefined ? 'stall' : 'end';
  const plain = empty ? [] : split(text, huge, bytes);
  const writes = scenario.gzip ? gzipWrites(plain, ending === 'end') : plain;
  // Padding comes before all else, so what is padded tells its usage with the last write.
  const writeIndex = huge === undefined ? 0 : writes.length - 1;
  const delayMs = scenario['chunk-delay'] ?? 0;
  return {
    writes,
    delayMs,
    ending,
    isWhole,
    usage: isWhole && usage ? { reported: usage, writeIndex } : null,
  };
}

function split(text: string, megabytes: number | undefined, bytes: number | undefined): Writes {
  if (megabytes !== undefined) return padText(text, megabytes);
  return bytes === undefined ? [text] : cutBytes(text, bytes);
}

function bytesOf(write: Writes[number]): Uint8Array {
  return typeof write === 'string' ? Buffer.from(write) : write;
}
