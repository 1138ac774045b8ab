/** Chat responses in the contract's format: its fields and no others. */
import { type ApiError, presentError } from '../errors.ts';
import type { BilledUsage } from '../ledger/operations.ts';
import type { ChatAnswer, FinishReason, ReportedUsage, ToolCall } from '../providers/chat.ts';

export function presentCompletion(
  requestId: string,
  createdSeconds: number,
  model: string,
  answer: ChatAnswer,
  billed: BilledUsage,
) {
  return {
    id: requestId,
    object: 'chat.completion',
    created: createdSeconds,
    model,
    choices: [{ index: 0, finish_reason: answer.finishReason, message: presentMessage(answer) }],
    usage: presentUsage(billed, answer.usage?.reasoningTokens ?? null),
  };
}

/** A message that calls tools has no content. */
function presentMessage({ content, toolCalls }: ChatAnswer) {
  if (toolCalls.length === 0) return { role: 'assistant', content: content ?? '' };
  return { role: 'assistant', content: null, tool_calls: toolCalls.map(presentToolCall) };
}

function presentToolCall({ id, name, arguments: text }: ToolCall) {
  return { id, type: 'function', function: { name, arguments: text } };
}

/** Details are there only where a cache or reasoning was involved. */
function presentUsage(
  { inputTokens, outputTokens, cached }: BilledUsage,
  reasoningTokens: ReportedUsage['reasoningTokens'],
) {
  const written = (cached?.write ?? 0) + (cached?.writeLong ?? 0);
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cached !== null && {
      prompt_tokens_details: {
        cached_tokens: cached.read,
        ...(written > 0 && { cache_write_tokens: written }),
      },
    }),
    ...(reasoningTokens && {
      completion_tokens_details: { reasoning_tokens: Math.min(reasoningTokens, outputTokens) },
    }),
  };
}

const beforeDelta = '{"index":0,"delta":';

/** Writes the events of one stream. What all its chunks have in common is serialized once. */
export class ChunkWriter {
  /** Everything up to the delta. */
  readonly #head: string;

  constructor(requestId: string, createdSeconds: number, model: string) {
    const shared = JSON.stringify({
      id: requestId,
      object: 'chat.completion.chunk',
      created: createdSeconds,
      model,
    });
    this.#head = `data: ${shared.slice(0, -1)},"choices":[${beforeDelta}`;
  }

  /** The first chunk. An answer that begins with a tool call has no content. */
  role(hasContent: boolean): string {
    return this.#chunk(`{"role":"assistant","content":${hasContent ? '""' : 'null'}}`, null);
  }

  text(text: string): string {
    return `${this.#head}{"content":${JSON.stringify(text)}},"finish_reason":null}]}\n\n`;
  }

  toolCall(index: number, id: string, name: string): string {
    const call = { index, id, type: 'function', function: { name, arguments: '' } };
    return this.#chunk(JSON.stringify({ tool_calls: [call] }), null);
  }

  toolArguments(index: number, text: string): string {
    return this.#chunk(JSON.stringify({ tool_calls: [{ index, function: { arguments: text } }] }), null);
  }

  finish(reason: FinishReason): string {
    return this.#chunk('{}', reason);
  }

  usage(billed: BilledUsage, reported: ReportedUsage): string {
    const usage = JSON.stringify(presentUsage(billed, reported.reasoningTokens));
    return `${this.#head.slice(0, -beforeDelta.length)}],"usage":${usage}}\n\n`;
  }

  #chunk(delta: string, reason: FinishReason | null): string {
    return `${this.#head}${delta},"finish_reason":${reason === null ? 'null' : `"${reason}"`}}]}\n\n`;
  }
}

export const endOfStream = 'data: [DONE]\n\n';

export function errorEvent(error: ApiError): string {
  return `data: ${JSON.stringify(presentError(error))}\n\n`;
}
