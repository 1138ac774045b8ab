/** A chat request in our own terms, whichever dialect it came in. */
import type { Attribution } from '../ledger/operations.ts';
import type { ChatCall, Original } from '../providers/chat.ts';
import type { Unsupported } from '../providers/upstream.ts';

/** `Asked` is what nobody but the dialect itself needs: how to present the answer. It stays in memory while that streams. */
export type ChatRequest<Asked> = Readonly<{
  model: string;
  stream: boolean;
  call: ChatCall;
  /**
   * The most that the client would take, where a dialect has such a limit. Unlike the length that a call asks for, it can be
   * lowered to what the model can write and the balance covers.
   */
  outputLimit: number | null;
  /** For providers that speak the dialect's own format; null for a dialect whose requests are always translated. */
  original: Original | null;
  /** What the original adds to the input of the call, where there is anything. */
  furtherInput?: FurtherInput;
  /** Whom it is for, where the dialect has fields of its own for that (attribution.ts). */
  attribution?: Attribution | null;
  asked: Asked;
}>;

/** Input that only a provider of the original's format gets, and that counts towards what is held. */
export type FurtherInput = Readonly<{
  /** JSON that goes into the prompt as it is. */
  values: readonly unknown[];
  /** What a provider itself adds to the prompt. */
  tokens: number;
  /** The first thing that can have more tokens than bytes, such as a PDF or an address; null when there is none. */
  unbounded: Unsupported | null;
}>;
