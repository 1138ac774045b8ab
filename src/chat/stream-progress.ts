/** Follows a stream from the provider and decides what the client gets of it. It has state, but does no I/O. */
import type { ErrorCode } from '../errors.ts';
import { cachedTokensOf, inputTokensOf, type Meters } from '../lib/meters.ts';
import type { ChatEvent, FinishReason, ReportedUsage } from '../providers/chat.ts';
import { DepthMeter } from '../providers/tool-arguments.ts';
import { beyondLimit, ProviderError } from '../providers/upstream.ts';
import type { ChatWriter } from './dialect.ts';
import { LeastTokens } from './least-tokens.ts';

/** The same piece of text this many times in a row is a provider caught in a loop. */
const maxRepetitions = 100;

export class StreamProgress {
  readonly #writer: ChatWriter;
  usage: ReportedUsage | null = null;
  /** The provider has sent the reason why the answer ends, whether it is complete or failed. */
  isFinished = false;
  /** That reason, if there was one. */
  finishReason: FinishReason | null = null;
  /** The provider has announced that nothing follows. */
  isEnded = false;
  /** Why nothing more of the stream is passed on. */
  failure: ProviderError | null = null;
  /** An event that was skipped because it was too long may have held the usage. */
  isUsageLost = false;
  /** Whether any text or arguments were passed on while the client was reading, and the fewest tokens that they have. */
  hasText = false;
  deliveredTokens = 0;
  isDelivering = true;
  /** The answer was complete when something went wrong. Nothing more is passed on, but the last counts may follow. */
  #isOver = false;
  readonly #delivered = new LeastTokens();
  /** By the index of the call. Null until the first one: most streams have none. */
  #depths: Map<number, DepthMeter> | null = null;
  #lastText = '';
  #repetitions = 0;

  constructor(writer: ChatWriter) {
    this.#writer = writer;
  }

  /** What these events become for the client; nothing once the stream has failed or ended. */
  take(events: readonly ChatEvent[]): string {
    let text = '';
    for (const event of events) {
      if (this.isEnded) break;
      if (this.#isOver && event.type !== 'usage' && event.type !== 'end') continue;
      if (event.type === 'text' && this.#isRepeatedTooOften(event.text))
        this.failure ??= new ProviderError('repeated_streaming_chunk_limit', { isProvoked: true });
      if (event.type === 'tool_arguments' && this.#isTooDeep(event.index, event.text))
        this.failure ??= beyondLimit();
      text += this.#write(event);
    }
    return text;
  }

  /**
   * The provider has ended the stream properly. After a failure that is enough: the event that could not be read may have
   * been the finish reason.
   */
  noteClosed(): void {
    this.isFinished ||= this.failure !== null;
  }

  /** Why the stream is incomplete now that the provider has ended it; null when it is complete. */
  missing(): ErrorCode | null {
    if (this.failure !== null) return this.failure.code;
    if (!this.isFinished) return 'provider_stream_error';
    return this.usage === null ? 'usage_missing' : null;
  }

  #write(event: ChatEvent): string {
    // Writers number their events and remember what they wrote, so they get none that is not sent.
    const isSilent = this.failure !== null;
    if (isSilent && isUsable(event) && event.type !== 'finish') return '';
    switch (event.type) {
      case 'text':
        return this.#counted(this.#writer.text(event), event.text);
      case 'reasoning':
        // It may be a summary, whose tokens nobody is billed for.
        return this.#writer.reasoning(event);
      case 'reasoning_end':
        return this.#writer.reasoningEnd(event);
      case 'tool_call':
        return this.#writer.toolCall(event);
      case 'tool_arguments':
        return this.#counted(this.#writer.toolArguments(event), event.text);
      case 'wire':
        return isSilent ? '' : this.#writer.wire(event);
      case 'finish':
        if (this.isFinished) return '';
        this.isFinished = true;
        this.finishReason = event.reason;
        return isSilent ? '' : this.#writer.finish(event);
      case 'usage':
        this.usage = latestUsage(this.usage, event.usage);
        if (isSilent || event.wire === undefined) return '';
        return this.#writer.wire({ type: 'wire', wire: event.wire });
      case 'failure':
        // A complete answer stays complete, whatever comes after it.
        if (this.missing() === null) {
          this.#isOver = true;
          return '';
        }
        this.failure ??= event.error;
        this.isUsageLost ||= event.isUsageLost;
        // A provider that is not aware of the failure continues and sends its finish reason later.
        if (event.error.code !== 'malformed_stream_chunk') this.isFinished = true;
        return '';
      case 'end':
        this.isEnded = true;
        return '';
    }
  }

  /** What is sent for a piece of the answer. Nothing is, for a piece that the client's format has no place for. */
  #counted(sent: string, text: string): string {
    if (sent === '' || !this.isDelivering) return sent;
    this.hasText ||= text !== '';
    this.#delivered.add(text);
    this.deliveredTokens = this.#delivered.tokens;
    return sent;
  }

  #isTooDeep(index: number, text: string): boolean {
    this.#depths ??= new Map();
    const depth = this.#depths.get(index) ?? new DepthMeter();
    this.#depths.set(index, depth);
    return depth.exceedsWith(text);
  }

  #isRepeatedTooOften(text: string): boolean {
    this.#repetitions = text === this.#lastText ? this.#repetitions + 1 : 1;
    this.#lastText = text;
    return this.#repetitions > maxRepetitions;
  }
}

/**
 * Counts cover the whole answer so far, so a later, smaller one cannot be right. The input of a report is taken as a
 * whole: its counts belong together. One that repeats their sum but says nothing of a cache takes nothing back.
 */
export function latestUsage(known: ReportedUsage | null, reported: ReportedUsage): ReportedUsage {
  if (known === null) return reported;
  const [before] = known.readings;
  const [now] = reported.readings;
  const isBare = cachedTokensOf(now) === null && cachedTokensOf(before) !== null;
  const hasMoreInput = inputTokensOf(now) >= inputTokensOf(before) + (isBare ? 1 : 0);
  const hasMoreOutput = now.output >= before.output;
  if (hasMoreInput === hasMoreOutput) return hasMoreInput ? reported : known;
  return hasMoreInput ? combined(reported, known) : combined(known, reported);
}

/** The input of one report and the output of another, each read in every way, and in each way once. */
function combined(input: ReportedUsage, output: ReportedUsage): ReportedUsage {
  const outputs = new Set(output.readings.map((reading) => reading.output));
  const inputs = new Map(
    input.readings.map((reading) => [JSON.stringify({ ...reading, output: 0 }), reading]),
  );
  const [first, ...others] = [...inputs.values()].flatMap((meters) =>
    [...outputs].map((count) => ({ ...meters, output: count })),
  );
  const isContradictory = input.contradiction !== null || output.contradiction !== null;
  return {
    readings: [first as Meters, ...others],
    contradiction: isContradictory ? { ...output.contradiction, ...input.contradiction } : null,
    reasoningTokens: output.reasoningTokens,
  };
}

/** Whether the client would see this event: until then another provider can still take over. */
export function isUsable({ type }: ChatEvent): boolean {
  return type !== 'usage' && type !== 'wire' && type !== 'end' && type !== 'failure';
}
