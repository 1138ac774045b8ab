/** POST /v1/chat/completions, as JSON or as a stream. */

import { type Answer, answerChat } from './chat-answer.ts';
import { type ChatRequest, lastUserText, readChatRequest } from './chat-request.ts';
import { completionBody, completionChunks } from './chat-wire.ts';
import { answerHeaders, type Call, type Endpoint } from './endpoint.ts';
import { errorBody } from './errors.ts';
import { sendJson } from './json-answer.ts';
import type { Scenario } from './scenario.ts';
import { cutBytes, type Transfer, transferBody } from './transfer.ts';
import { countPromptTokens, type ReportedUsage, reportUsage } from './usage.ts';

export const chat: Endpoint<ChatRequest> = {
  read: readChatRequest,
  userText: lastUserText,
  answer: answerRequest,
};

function answerRequest(call: Call<ChatRequest>): Response {
  const { input, reading, number, record } = call;
  const { scenario } = reading;
  const answer = answerChat(input, reading);
  const usage = reportUsage(countPromptTokens(input), answer.tokens, scenario);
  const head = { number, createdSeconds: Math.floor(Date.now() / 1000), model: input.model };
  if (!input.stream) return sendJson(call, completionBody(head, answer, usage), usage);

  const sentUsage = input.stream_options?.include_usage ? usage : null;
  const payloads = completionChunks(head, answer, sentUsage, scenario.interleave ?? false);
  const transfer = planStream(payloads, answer, sentUsage, scenario);
  const type = scenario['wrong-type'] ? 'application/json' : 'text/event-stream; charset=utf-8';
  return new Response(transferBody(transfer, record), { headers: answerHeaders(number, type) });
}

function planStream(
  payloads: readonly string[],
  answer: Answer,
  usage: ReportedUsage | null,
  scenario: Scenario,
): Transfer {
  const delayMs = scenario['chunk-delay'] ?? 0;
  // A count in a directive is of chunks with content; the one with the role comes before them.
  const first = (count: number) => payloads.slice(0, 1 + Math.min(count, answer.tokens));
  const partly = (some: readonly string[], ending: Transfer['ending'] = 'end'): Transfer => ({
    writes: frameEvents(some, scenario),
    delayMs,
    ending,
    isWhole: false,
    usage: null,
  });
  if (scenario.empty) return partly([]);
  if (scenario.cut !== undefined) return partly(first(scenario.cut), 'reset');
  if (scenario.stall !== undefined) return partly(first(scenario.stall), 'stall');
  if (scenario.end !== undefined) return partly(first(scenario.end));
  if (scenario['error-event'] !== undefined) {
    const error = errorBody('The server had an error.', { type: 'server_error', code: null });
    return partly([...first(scenario['error-event']), error, '[DONE]']);
  }

  const isWhole = !scenario['no-done'];
  const events = isWhole ? [...payloads, '[DONE]'] : [...payloads];
  if (scenario.malformed !== undefined) events.splice(first(scenario.malformed).length, 0, '{broken');
  const writes = frameEvents(events, scenario);
  // Events and writes are the same in number unless a directive cut the bytes in another way.
  const writeIndex = writes.length === events.length ? events.length - (isWhole ? 2 : 1) : 0;
  return { writes, delayMs, ending: 'end', isWhole, usage: usage && { reported: usage, writeIndex } };
}

/** The events as the scenario wants them written: one write each, all in one, or cut by bytes. */
function frameEvents(payloads: readonly string[], scenario: Scenario): readonly (string | Uint8Array)[] {
  const events = payloads.map(scenario.crlf ? unusualEvent : usualEvent);
  if (scenario.burst) return [events.join('')];
  return scenario.bytes === undefined ? events : cutBytes(events.join(''), scenario.bytes);
}

function usualEvent(payload: string): string {
  return `data: ${payload}\n\n`;
}

/** What the event stream format allows and few servers write: comments, CRLF, no space, data on two lines. */
function unusualEvent(payload: string): string {
  return `: a comment\r\ndata:${payload.replace('{', '{\r\ndata: ')}\r\n\r\n`;
}
