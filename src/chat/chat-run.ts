import type { Claim } from '../idempotency/claim.ts';
import type { OpenGeneration } from '../inference/generation.ts';
import type { Turns } from '../routing/candidates.ts';
import type { ChatBill } from './billing.ts';
import type { ChatRequest } from './parse.ts';

/** An admitted chat request on its way to an answer. */
export type ChatRun = Readonly<{
  requestId: string;
  chat: ChatRequest;
  bill: ChatBill;
  generation: OpenGeneration;
  turns: Turns;
  /** The right to answer for good, when the request has a name. */
  claim: Claim | null;
  /** Aborted when the client has gone. */
  client: AbortSignal;
}>;
