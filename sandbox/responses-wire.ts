/** OpenAI's Responses format: serialises responses, their events and errors, with fields that a gateway has to drop. */

import type { Answer, ToolCall } from './chat-answer.ts';
import { type Failure, privateDetail } from './errors.ts';
import type { ChatFormat, Head, StreamOutline } from './format.ts';
import { openai } from './openai-wire.ts';
import type { ReportedUsage, TokenCounts } from './usage.ts';

export const responses: ChatFormat = {
  rejection: openai.rejection,
  headers: openai.headers,
  errorBody: openai.errorBody,
  errorEvent,
  usageNames: { input: 'input_tokens', output: 'output_tokens', total: 'total_tokens' },
  hasCacheWrites: true,
  reportUsage,
  contradictUsage,
  body,
  stream,
  frame,
  endAfterError: null,
};

/** Bound to the item: the request's reader checks it. */
export function encryptedContentOf(id: string): string {
  return `gAAAA${Buffer.from(`Reasoning of ${id}.`).toString('base64url')}`;
}

/** Cached tokens, read or written, are part of the input, reasoning tokens part of the output. */
function reportUsage(counts: TokenCounts): ReportedUsage {
  const { inputTokens, outputTokens, cachedTokens, writtenTokens, writtenLongTokens, reasoningTokens } =
    counts;
  const written = writtenTokens + writtenLongTokens;
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: cachedTokens,
      cache_write_tokens: written,
      ...(written > 0 && {
        cache_write_tokens_details: { ttl_30m_tokens: writtenTokens, ttl_12h_tokens: writtenLongTokens },
      }),
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

/** More is read from the cache than there is. */
function contradictUsage(usage: ReportedUsage): ReportedUsage {
  const details = usage.input_tokens_details as object;
  const cached_tokens = Number(usage.input_tokens) + 1;
  return { ...usage, input_tokens_details: { ...details, cached_tokens } };
}

function body(head: Head, answer: Answer, usage: ReportedUsage | null): string {
  const output = itemsOf(head, answer);
  return JSON.stringify({ ...responseOf(head), ...endingOf(head, answer), output, usage });
}

function responseOf({ number, createdSeconds, model, request }: Head): object {
  const asked = request.responses?.asked ?? {};
  return {
    id: `resp_sandbox_${number}`,
    object: 'response',
    created_at: createdSeconds,
    status: 'in_progress',
    background: false,
    billing: { payer: 'sandbox-organization' },
    error: null,
    incomplete_details: null,
    instructions: asked.instructions ?? null,
    max_output_tokens: asked.max_output_tokens ?? null,
    max_tool_calls: null,
    model,
    output: [],
    parallel_tool_calls: asked.parallel_tool_calls ?? true,
    previous_response_id: null,
    prompt_cache_key: asked.prompt_cache_key ?? null,
    reasoning: asked.reasoning ?? { effort: null, summary: null },
    safety_identifier: asked.safety_identifier ?? null,
    service_tier: 'default',
    store: asked.store ?? true,
    temperature: asked.temperature ?? 1,
    text: asked.text ?? { format: { type: 'text' } },
    tool_choice: asked.tool_choice ?? 'auto',
    tools: asked.tools ?? [],
    top_logprobs: 0,
    top_p: asked.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    user: asked.user ?? null,
    metadata: asked.metadata ?? {},
  };
}

const incompleteReasons: ReadonlyMap<string, string> = new Map([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
]);

function endingOf(
  { createdSeconds }: Head,
  { finishReason }: Answer,
): Readonly<{ status: string; completed_at?: number; incomplete_details?: object }> {
  const reason = incompleteReasons.get(finishReason);
  return reason === undefined
    ? { status: 'completed', completed_at: createdSeconds }
    : { status: 'incomplete', incomplete_details: { reason } };
}

type Item = Readonly<{ id: string; type: string }> & Readonly<Record<string, unknown>>;

/** All items, complete. */
function itemsOf(head: Head, answer: Answer): readonly Item[] {
  const { thoughtPieces, pieces, toolCalls, finishReason } = answer;
  const items: Item[] = [];
  if (thoughtPieces.length > 0) {
    const { isSummaryShown = false } = head.request.responses ?? {};
    const summary = isSummaryShown ? [{ type: 'summary_text', text: thoughtPieces.join('') }] : [];
    items.push({ ...openReasoning(head), summary });
  }
  if (pieces.length > 0 || toolCalls.length === 0) {
    const status = incompleteReasons.has(finishReason) ? 'incomplete' : 'completed';
    items.push({ ...openMessage(head), status, content: [textPart(pieces.join(''))] });
  }
  for (const [index, call] of toolCalls.entries())
    items.push(callItem(head, call, index, call.argumentPieces.join(''), 'completed'));
  return items;
}

function openReasoning({ number, request }: Head): Item {
  const id = `rs_sandbox_${number}`;
  const isIncluded = request.responses?.isReasoningIncluded === true;
  return {
    id,
    type: 'reasoning',
    summary: [],
    ...(isIncluded && { encrypted_content: encryptedContentOf(id) }),
  };
}

function openMessage({ number }: Head): Item {
  return {
    id: `msg_sandbox_${number}`,
    type: 'message',
    status: 'in_progress',
    role: 'assistant',
    content: [],
  };
}

function textPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function callItem({ number }: Head, call: ToolCall, index: number, written: string, status: string): Item {
  const { name, isCustom, namespace } = call;
  const shared = {
    call_id: `call_sandbox_${number}_${index}`,
    name,
    ...(namespace && { namespace }),
    status,
  };
  return isCustom
    ? { id: `ctc_sandbox_${number}_${index}`, type: 'custom_tool_call', ...shared, input: written }
    : { id: `fc_sandbox_${number}_${index}`, type: 'function_call', ...shared, arguments: written };
}

function stream(head: Head, answer: Answer, usage: ReportedUsage | null): StreamOutline {
  const response = responseOf(head);
  const plan = new StreamWriter(head);
  plan.event('response.created', { response });
  plan.event('response.in_progress', { response });
  const openingCount = plan.payloads.length;
  const items = itemsOf(head, answer);
  let called = 0;
  for (const [place, item] of items.entries()) {
    if (item.type === 'reasoning') plan.reasoning(place, item, answer.thoughtPieces);
    else if (item.type === 'message') plan.message(place, item, answer.pieces);
    else plan.call(place, item, answer.toolCalls[called++] as ToolCall);
  }
  const ending = endingOf(head, answer);
  plan.event(`response.${ending.status}`, { response: { ...response, ...ending, output: items, usage } });
  const { payloads, contentEnds } = plan;
  return {
    payloads,
    upToContent: (count) => contentEnds[Math.min(count, contentEnds.length) - 1] ?? openingCount,
    upToFinish: payloads.length,
    end: null,
  };
}

/** Collects the events of one stream, and numbers them. */
class StreamWriter {
  readonly payloads: string[] = [];
  /** For each payload with content, the number of payloads up to and including it. */
  readonly contentEnds: number[] = [];
  readonly #head: Head;

  constructor(head: Head) {
    this.#head = head;
  }

  event(type: string, fields: object): void {
    this.payloads.push(JSON.stringify({ type, sequence_number: this.payloads.length, ...fields }));
  }

  /** A random padding hides the length of the text. */
  #delta(type: string, fields: object, text: string): void {
    const isObfuscated = this.#head.request.responses?.isObfuscated === true;
    const padding = 'x'.repeat(Math.max(0, 16 - text.length));
    this.event(type, { ...fields, delta: text, ...(isObfuscated && { obfuscation: padding }) });
  }

  reasoning(place: number, item: Item, pieces: readonly string[]): void {
    const at = { item_id: item.id, output_index: place, summary_index: 0 };
    this.event('response.output_item.added', { output_index: place, item: { ...item, summary: [] } });
    if ((item.summary as readonly unknown[]).length > 0) {
      const text = pieces.join('');
      this.event('response.reasoning_summary_part.added', {
        ...at,
        part: { type: 'summary_text', text: '' },
      });
      for (const piece of pieces) this.#delta('response.reasoning_summary_text.delta', at, piece);
      this.event('response.reasoning_summary_text.done', { ...at, text });
      this.event('response.reasoning_summary_part.done', { ...at, part: { type: 'summary_text', text } });
    }
    this.event('response.output_item.done', { output_index: place, item });
  }

  message(place: number, item: Item, pieces: readonly string[]): void {
    const at = { item_id: item.id, output_index: place, content_index: 0 };
    const text = pieces.join('');
    this.event('response.output_item.added', { output_index: place, item: openMessage(this.#head) });
    this.event('response.content_part.added', { ...at, part: textPart('') });
    for (const piece of pieces) {
      this.#delta('response.output_text.delta', { ...at, logprobs: [] }, piece);
      this.contentEnds.push(this.payloads.length);
    }
    this.event('response.output_text.done', { ...at, text, logprobs: [] });
    this.event('response.content_part.done', { ...at, part: textPart(text) });
    this.event('response.output_item.done', { output_index: place, item });
  }

  /** As in the other formats, the name counts as a piece of a call. */
  call(place: number, item: Item, { isCustom = false, argumentPieces }: ToolCall): void {
    const at = { item_id: item.id, output_index: place };
    const field = isCustom ? 'input' : 'arguments';
    const kind = isCustom ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
    const opened = { ...item, [field]: '', status: 'in_progress' };
    this.event('response.output_item.added', { output_index: place, item: opened });
    this.contentEnds.push(this.payloads.length);
    for (const piece of argumentPieces) {
      this.#delta(`${kind}.delta`, at, piece);
      this.contentEnds.push(this.payloads.length);
    }
    this.event(`${kind}.done`, { ...at, [field]: argumentPieces.join('') });
    this.event('response.output_item.done', { output_index: place, item });
  }
}

function errorEvent({ message }: Failure): string {
  const text = `${message} (${privateDetail})`;
  return JSON.stringify({
    type: 'error',
    code: 'server_error',
    message: text,
    param: null,
    sequence_number: 0,
  });
}

/** An event is named after the type in its data. Malformed data gets the most common name. */
function frame(payload: string): string {
  const [, name = 'response.output_text.delta'] = /^\{"type":"([a-z_.]+)"/.exec(payload) ?? [];
  return `event: ${name}\ndata: ${payload}\n\n`;
}
