/** A chat endpoint in any format: the answer is computed once, and the format serialises it. */

import { answerChat } from './chat-answer.ts';
import { type ChatRequest, lastUserText } from './chat-request.ts';
import { answerHeaders, type Call, type Endpoint } from './endpoint.ts';
import { BadRequest } from './errors.ts';
import type { ChatFormat } from './format.ts';
import { sendJson } from './json-answer.ts';
import type { Scenario } from './scenario.ts';
import { planStream } from './stream-plan.ts';
import { transferBody } from './transfer.ts';
import { countUsage, type ReportedUsage, spoilUsage, type TokenCounts } from './usage.ts';

export function chatEndpoint(
  format: ChatFormat,
  read: (body: unknown) => ChatRequest,
): Endpoint<ChatRequest> {
  return { format, read, userText: lastUserText, answer: (call) => answerRequest(format, call) };
}

function answerRequest(format: ChatFormat, call: Call<ChatRequest>): Response {
  const { input, reading, number, record } = call;
  const { scenario } = reading;
  const answer = answerChat(input, reading);
  const counts = countUsage(input, answer, scenario);
  const usage = counts && report(format, counts, scenario);
  const head = { number, createdSeconds: Math.floor(Date.now() / 1000), model: input.model, request: input };
  if (!input.stream) return sendJson(call, format.body(head, answer, usage), usage);

  const sentUsage = input.stream_options?.include_usage ? usage : null;
  const outline = format.stream(head, answer, sentUsage, scenario.interleave ?? false);
  const transfer = planStream(format, outline, sentUsage, scenario, number);
  const type = scenario['wrong-type'] ? 'application/json' : 'text/event-stream; charset=utf-8';
  return new Response(transferBody(transfer, record), { headers: answerHeaders(call, type) });
}

function report(format: ChatFormat, counts: TokenCounts, scenario: Scenario): ReportedUsage {
  if (scenario['cache-write'] !== undefined && !format.hasCacheWrites)
    throw new BadRequest('This format cannot report [[cache-write]].', null);
  const plain = format.reportUsage(counts);
  const usage = scenario['usage-contradiction'] ? format.contradictUsage(plain) : plain;
  return spoilUsage(usage, format.usageNames, scenario['bad-usage']);
}
