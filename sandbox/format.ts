/** A wire format: how it authenticates requests, and how it serialises errors and answers. */

import type { Answer } from './chat-answer.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Failure } from './errors.ts';
import type { ReportedUsage, TokenCounts, UsageNames } from './usage.ts';

export type Format = Readonly<{
  /** Why the headers alone are rejected; null if they are valid. */
  rejection: (headers: Headers) => Failure | null;
  /** The response headers. `number` is that of the request. */
  headers: (number: number, contentType: string) => Record<string, string>;
  errorBody: (failure: Failure, number: number) => string;
}>;

/** The metadata of an answer. */
export type Head = Readonly<{
  number: number;
  createdSeconds: number;
  model: string;
  /** What it answers, for formats that repeat parts of it. */
  request: ChatRequest;
}>;

/** The JSON of each event of a stream, and the positions that a directive can name. */
export type StreamOutline = Readonly<{
  /** All but the end marker. The last one carries the usage, if there is any. */
  payloads: readonly string[];
  /** The number of payloads up to the given number of content chunks; for 0, those that open the stream. */
  upToContent: (count: number) => number;
  /** The number of payloads up to and including the finish reason. */
  upToFinish: number;
  /** The end marker; null in a format without one. */
  end: string | null;
}>;

export type ChatFormat = Format &
  Readonly<{
    usageNames: UsageNames;
    /** Whether it can say how much was written to a cache. */
    hasCacheWrites: boolean;
    reportUsage: (counts: TokenCounts) => ReportedUsage;
    /** The same report with counts that cannot all be true. */
    contradictUsage: (usage: ReportedUsage) => ReportedUsage;
    body: (head: Head, answer: Answer, usage: ReportedUsage | null) => string;
    /** `interleave`: the pieces of parallel calls alternate, in formats that allow it. */
    stream: (head: Head, answer: Answer, usage: ReportedUsage | null, interleave: boolean) => StreamOutline;
    /** An event as it appears on the wire. */
    frame: (payload: string) => string;
    /** An error in the middle of a stream, where it differs from the body of an error. */
    errorEvent?: (failure: Failure) => string;
    /** The payload that follows an error in the middle of a stream. */
    endAfterError: string | null;
  }>;

/** Any key is valid, except one that contains `invalid`. */
export function isGoodKey(key: string | null | undefined): boolean {
  return key != null && key !== '' && !key.includes('invalid');
}

/** The arguments of a call, for formats that carry them as an object. */
export function argumentsOf({ argumentPieces }: Answer['toolCalls'][number]): unknown {
  return JSON.parse(argumentPieces.join(''));
}
