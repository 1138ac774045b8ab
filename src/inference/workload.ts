/** What one kind of inference contributes to the life of a request in request.ts: everything but holds, settlements and failures. */
import type { Claim } from '../idempotency/claim.ts';
import type { Attribution, DenialCode, TokenRange } from '../ledger/operations.ts';
import type { Charge } from '../ledger/settlement.ts';
import type { Log } from '../lib/log.ts';
import type { Money } from '../lib/money.ts';
import type { Workload as WorkloadName } from '../models/model.ts';
import type { Price } from '../pricing/price.ts';
import type { CallOrigin } from '../providers/upstream.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import type { Candidate } from '../routing/candidates.ts';
import type { OpenGeneration } from './generation.ts';
import type { ReadOnStreams } from './read-on-streams.ts';

/** What is known of a request besides its body. */
export type Incoming = Readonly<{ headers: Headers; accountId: string }>;

/** What a request may cost, and which candidates can serve it. */
export type Plan = Readonly<{
  model: string;
  candidates: readonly Candidate[];
  /** Equal where the request itself determines its maximum cost. */
  hold: Readonly<{ min: Money; max: Money }>;
  /** How many tokens it may use. Left out for what is not counted in tokens. */
  tokens?: TokenRange;
  /** What all requests of its conversation have in common; null when no further one is likely. */
  conversation: (() => string) | null;
}>;

/** A request whose cost is held. */
export type Run<Job> = Readonly<{
  requestId: string;
  job: Job;
  generation: OpenGeneration;
  /** The right to store the response, when the request has an idempotency key. */
  claim: Claim | null;
  /** Aborted when the client disconnects. */
  client: AbortSignal;
}>;

/** How an answer is obtained and delivered: streamed, or in one piece. */
export type Exchange<Job, Opened> = Readonly<{
  /** One attempt: calls a provider, and waits until there is something to deliver. */
  open: (job: Job, candidate: Candidate, generation: OpenGeneration) => Promise<Opened>;
  /** Ends what was opened and is not delivered, and notes what it used. */
  discard: (job: Job, opened: Opened, candidate: Candidate, generation: OpenGeneration) => void;
  /** `opening` is what the first successful attempt opens. */
  respond: (run: Run<Job>, opening: Promise<Opened>, services: StreamServices) => Promise<Response>;
}>;

/** What streaming needs beyond the run itself. */
export type StreamServices = Readonly<{ log: Log; readOn: ReadOnStreams }>;

export type Workload<Wanted, Planned extends Plan, Job, Answer, Opened = never> = Readonly<{
  name: WorkloadName;
  /** Which endpoint it is, as Generations record it. */
  api: string;
  /** The scope of an idempotency key: the same key on another route is another request. */
  route: string;
  /** The parameters that its address may have, all without effect. Left out: none. */
  queryParameters?: readonly string[];
  /** Whether its bodies hold data in which no digit of a number may be lost. Left out: no. */
  keepsNumbers?: boolean;
  /** Throws a 400 that names the parameter. */
  parse: (body: unknown, incoming: Incoming) => Wanted;
  isStreamed: (wanted: Wanted) => boolean;
  /** Whom the request is for, in fields of its own format. Left out where a format has none. */
  attributionOf?: (wanted: Wanted) => Attribution | null;
  /** Throws when the key may not use the model, or neither the model nor any of its providers can serve the request. */
  plan: (wanted: Wanted, active: ActiveCatalog, allowedModels: ReadonlySet<string> | null) => Planned;
  /** What the client could do for the request to fit into this amount, denied with this code; null when nothing would help. */
  advice: (plan: Planned, available: Money, code: DenialCode) => string | null;
  /** How many output tokens would fit into this amount; null when none would. Left out where there are no tokens. */
  fittingTokens?: (plan: Planned, available: Money) => number | null;
  /** What to ask a provider for, given this hold. `tokens` is how many it may use, if that is limited. */
  accept: (plan: Planned, held: Money, tokens: number | null) => Job;
  call: (
    job: Job,
    candidate: Candidate,
    generation: CallOrigin & Pick<OpenGeneration, 'noteUsed'>,
  ) => Promise<Readonly<{ status: number; answer: Answer }>>;
  /** Null when the provider reported no usage. `providerPrice` is what it asks of the operator. */
  bill: (job: Job, answer: Answer, finishedAt: Date, providerPrice: Price | null) => Charge | null;
  /** Why the answer ended, as its provider reported it. Left out where providers do not. */
  finishReasonOf?: (answer: Answer) => string;
  present: (job: Job, answer: Answer, charge: Charge, requestId: string, createdSeconds: number) => object;
  stream: Exchange<Job, Opened> | null;
}>;
