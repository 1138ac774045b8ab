/** Sends a JSON answer, with the transfer faults that make sense for one. */

import { answerHeaders, type Call } from './endpoint.ts';
import { cutBytes, transferBody } from './transfer.ts';
import type { ReportedUsage } from './usage.ts';

export function sendJson(call: Call<unknown>, body: string, usage: ReportedUsage | null): Response {
  const { number, reading, record } = call;
  const { scenario } = reading;
  const type = scenario['wrong-type'] ? 'text/event-stream' : 'application/json';
  const init = { headers: answerHeaders(number, type) };
  const half = body.slice(0, body.length / 2);
  if (scenario.empty) {
    record.finish(200, 'ended_early', null);
    return new Response('', init);
  }
  if (scenario.end !== undefined || scenario.malformed !== undefined) {
    record.finish(200, 'ended_early', null);
    return new Response(half, init);
  }
  if (scenario.cut !== undefined || scenario.stall !== undefined) {
    const ending = scenario.cut !== undefined ? 'reset' : 'stall';
    const transfer = { writes: [half], delayMs: 0, ending, isWhole: false, usage: null } as const;
    return new Response(transferBody(transfer, record), init);
  }
  if (scenario.bytes !== undefined) {
    const writes = cutBytes(body, scenario.bytes);
    const delayMs = scenario['chunk-delay'] ?? 0;
    const reported = usage && { reported: usage, writeIndex: 0 };
    const transfer = { writes, delayMs, ending: 'end', isWhole: true, usage: reported } as const;
    return new Response(transferBody(transfer, record), init);
  }
  record.finish(200, 'complete', usage);
  return new Response(body, init);
}
