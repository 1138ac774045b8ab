/** Chat responses in the contract's format: its fields and no others. */
import { type ApiError, presentError } from '../../errors.ts';
import type { BilledUsage } from '../../ledger/operations.ts';
import type { Charge } from '../../ledger/settlement.ts';
import {
  type ChatAnswer,
  type ChatEvent,
  type FinishReason,
  type ReportedUsage,
  type ToolCall,
  textOf,
  toolCallsOf,
} from '../../providers/chat.ts';
import type { ChatWriter, ResponseFacts } from '../dialect.ts';
import type { AskedOfCompletions } from './parse.ts';

export function presentCompletion(
  { requestId, createdSeconds, model }: ResponseFacts<unknown>,
  answer: ChatAnswer,
  { usage: billed }: Charge,
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
function presentMessage({ items }: ChatAnswer) {
  const toolCalls = toolCallsOf(items);
  if (toolCalls.length === 0) return { role: 'assistant', content: textOf(items) };
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
const endOfStream = 'data: [DONE]\n\n';

type EventOf<Type extends ChatEvent['type']> = Extract<ChatEvent, { type: Type }>;

/** Writes the chunks of one stream. What all of them have in common is serialized once. */
export class ChunkWriter implements ChatWriter {
  readonly close = endOfStream;
  /** Everything up to the delta. */
  readonly #head: string;
  readonly #includesUsage: boolean;
  #hasToolCalls = false;

  constructor({ requestId, createdSeconds, model, asked }: ResponseFacts<AskedOfCompletions>) {
    this.#includesUsage = asked.includeUsage;
    const shared = JSON.stringify({
      id: requestId,
      object: 'chat.completion.chunk',
      created: createdSeconds,
      model,
    });
    this.#head = `data: ${shared.slice(0, -1)},"choices":[${beforeDelta}`;
  }

  /** The first chunk. An answer that begins with a tool call has no content. */
  begin({ type }: ChatEvent): string {
    return this.#chunk(`{"role":"assistant","content":${type === 'tool_call' ? 'null' : '""'}}`, null);
  }

  /** A message that calls tools has no text. Text before the call has been sent already. */
  text({ text }: EventOf<'text'>): string {
    if (this.#hasToolCalls) return '';
    return `${this.#head}{"content":${JSON.stringify(text)}},"finish_reason":null}]}\n\n`;
  }

  reasoning(): string {
    return '';
  }

  reasoningEnd(): string {
    return '';
  }

  wire(): string {
    return '';
  }

  toolCall({ index, id, name }: EventOf<'tool_call'>): string {
    this.#hasToolCalls = true;
    const call = { index, id, type: 'function', function: { name, arguments: '' } };
    return this.#chunk(JSON.stringify({ tool_calls: [call] }), null);
  }

  toolArguments({ index, text }: EventOf<'tool_arguments'>): string {
    return this.#chunk(JSON.stringify({ tool_calls: [{ index, function: { arguments: text } }] }), null);
  }

  finish({ reason }: EventOf<'finish'>): string {
    return this.#chunk('{}', reason);
  }

  complete({ usage: billed }: Charge, reported: ReportedUsage): string {
    if (!this.#includesUsage) return '';
    const usage = JSON.stringify(presentUsage(billed, reported.reasoningTokens));
    return `${this.#head.slice(0, -beforeDelta.length)}],"usage":${usage}}\n\n`;
  }

  failure(error: ApiError): string {
    return `data: ${JSON.stringify(presentError(error))}\n\n`;
  }

  #chunk(delta: string, reason: FinishReason | null): string {
    return `${this.#head}${delta},"finish_reason":${reason === null ? 'null' : `"${reason}"`}}]}\n\n`;
  }
}
