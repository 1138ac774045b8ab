/** What a wire format is to the sandbox: how it is let in, how it says no, and how it writes an answer down. */

import type { Answer } from './chat-answer.ts';
import type { Failure } from './errors.ts';
import type { ReportedUsage, TokenCounts, UsageNames } from './usage.ts';

export type Format = Readonly<{
  /** Why a request is turned away by its headers alone; null when it is not. */
  refusal: (headers: Headers) => Failure | null;
  /** The headers of an answer. `number` is that of the request. */
  headers: (number: number, contentType: string) => Record<string, string>;
  errorBody: (failure: Failure, number: number) => string;
}>;

/** What an answer says of itself besides its content. */
export type Head = Readonly<{ number: number; createdSeconds: number; model: string }>;

/** The JSON of each event of a stream, and where in it the moments are that a directive can name. */
export type StreamOutline = Readonly<{
  /** All but the end marker. The last of them tells the usage, if any does. */
  payloads: readonly string[];
  /** How many payloads there are up to the one with the given number of contents; for 0, those that open the stream. */
  upToContent: (count: number) => number;
  /** How many payloads there are up to the one with the finish reason. */
  upToFinish: number;
  /** What says that the stream is complete; null in a format that says nothing. */
  end: string | null;
}>;

export type ChatFormat = Format &
  Readonly<{
    usageNames: UsageNames;
    reportUsage: (counts: TokenCounts) => ReportedUsage;
    body: (head: Head, answer: Answer, usage: ReportedUsage | null) => string;
    /** `interleave`: the pieces of parallel calls take turns, in formats that have calls in pieces at once. */
    stream: (head: Head, answer: Answer, usage: ReportedUsage | null, interleave: boolean) => StreamOutline;
    /** An event as it is written. */
    frame: (payload: string) => string;
    /** What still follows an error in the middle of a stream. */
    endAfterError: string | null;
  }>;

/** Any key is good, except one that says it is not. */
export function isGoodKey(key: string | null | undefined): boolean {
  return key != null && key !== '' && !key.includes('invalid');
}

/** The arguments of a call, for formats that carry them as an object. */
export function argumentsOf({ argumentPieces }: Answer['toolCalls'][number]): unknown {
  return JSON.parse(argumentPieces.join(''));
}
