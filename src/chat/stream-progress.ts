/** Follows a stream from the provider and says what the client gets of it. Pure but for its own memory. */
import type { ErrorCode } from '../errors.ts';
import type { ChatEvent, TokenUsage } from '../providers/chat.ts';
import { ProviderError } from '../providers/upstream.ts';
import type { ChunkWriter } from './present.ts';

/** The same piece of text this many times in a row is a provider caught in a loop. */
const maxRepetitions = 100;

export class StreamProgress {
  readonly #chunks: ChunkWriter;
  usage: TokenUsage | null = null;
  /** The provider has said why the answer ends, whether it is complete or failed. */
  isFinished = false;
  /** The provider has said that nothing follows. */
  isEnded = false;
  /** Why nothing more of the stream is passed on. */
  failure: ProviderError | null = null;
  /** What was passed over, because it was too long, may have held the usage. */
  isUsageLost = false;
  /** UTF-8 bytes of the text and the arguments that were passed on while there was someone to read them. */
  deliveredBytes = 0;
  isDelivering = true;
  #lastText = '';
  #repetitions = 0;

  constructor(chunks: ChunkWriter) {
    this.#chunks = chunks;
  }

  /** The text of the chunks that these events become; none once the stream has failed or ended. */
  take(events: readonly ChatEvent[]): string {
    let text = '';
    for (const event of events) {
      if (this.isEnded) break;
      if (event.type === 'text' && this.#isRepeatedTooOften(event.text))
        this.failure ??= new ProviderError('repeated_streaming_chunk_limit', null, null, true);
      const chunk = this.#chunk(event);
      if (this.failure === null) text += chunk;
    }
    return text;
  }

  /** Why the stream cannot count as complete now that the provider has ended it; null when it can. */
  missing(): ErrorCode | null {
    if (this.failure !== null) return this.failure.code;
    if (!this.isFinished) return 'provider_stream_error';
    return this.usage === null ? 'usage_missing' : null;
  }

  #chunk(event: ChatEvent): string {
    switch (event.type) {
      case 'text':
        this.#countDelivered(event.text);
        return this.#chunks.text(event.text);
      case 'tool_call':
        return this.#chunks.toolCall(event.index, event.id, event.name);
      case 'tool_arguments':
        this.#countDelivered(event.text);
        return this.#chunks.toolArguments(event.index, event.text);
      case 'finish':
        if (this.isFinished) return '';
        this.isFinished = true;
        return this.#chunks.finish(event.reason);
      case 'usage':
        this.usage = larger(this.usage, event.usage);
        return '';
      case 'failure':
        this.failure ??= event.error;
        this.isUsageLost ||= event.isUsageLost;
        // What one of our own limits ends goes on at the provider, which says later why it finished.
        if (event.error.code !== 'malformed_stream_chunk') this.isFinished = true;
        return '';
      case 'end':
        this.isEnded = true;
        return '';
    }
  }

  #countDelivered(text: string): void {
    if (this.isDelivering && this.failure === null) this.deliveredBytes += Buffer.byteLength(text);
  }

  #isRepeatedTooOften(text: string): boolean {
    this.#repetitions = text === this.#lastText ? this.#repetitions + 1 : 1;
    this.#lastText = text;
    return this.#repetitions > maxRepetitions;
  }
}

/** Counts are those of the whole answer so far, so a later and smaller one cannot be right. */
function larger(known: TokenUsage | null, reported: TokenUsage): TokenUsage {
  return {
    inputTokens: Math.max(known?.inputTokens ?? 0, reported.inputTokens),
    outputTokens: Math.max(known?.outputTokens ?? 0, reported.outputTokens),
  };
}

/** Whether the client would see anything of this event: until then another provider can still take over. */
export function isUsable({ type }: ChatEvent): boolean {
  return type !== 'usage' && type !== 'end' && type !== 'failure';
}
