/** A chat request in our own terms, whichever dialect it came in. */
import type { Attribution } from '../ledger/operations.ts';
import type { ChatCall, Original } from '../providers/chat.ts';

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
  /** Whom it is for, where the dialect has fields of its own for that (attribution.ts). */
  attribution?: Attribution | null;
  asked: Asked;
}>;
