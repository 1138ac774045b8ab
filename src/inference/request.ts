/**
 * The life of an inference request, the same for every workload: authenticate → read → parse → claim the idempotency key
 * → plan (model, cost, candidates) → hold → attempt → settle → respond. The first attempt may start while the hold is being
 * committed (early-calls.ts).
 */
import { ApiError } from '../errors.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { AskedRequest, Handler, RequestContext } from '../http/context.ts';
import { lookUp } from '../http/lookup.ts';
import { errorPresenter } from '../http/messages-error.ts';
import { readQuery } from '../http/query.ts';
import type { Claim } from '../idempotency/claim.ts';
import { readIdempotencyKey } from '../idempotency/idempotency-key.ts';
import type { Idempotency } from '../idempotency/once.ts';
import { readJsonBody } from '../json/body.ts';
import type { Authenticate } from '../keys/authenticate.ts';
import type { ApiKey } from '../keys/key-store.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { completed, failure } from '../ledger/settlement.ts';
import { formatMoneyShort, type Money } from '../lib/money.ts';
import type { LimitsInForce } from '../limits/applied-limits.ts';
import { atPricesOf } from '../models/access.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { CandidatesInTurn, inOrder } from '../routing/candidates.ts';
import type { Conversations } from '../routing/conversations.ts';
import type { Admission } from './admission.ts';
import { attemptInTurn, type RecordAttempts } from './attempts.ts';
import { type IdentifyUpstream, readAttribution } from './attribution.ts';
import type { EarlyCalls } from './early-calls.ts';
import { OpenGeneration, settleBeforeDelivery } from './generation.ts';
import type { Exchange, Plan, Run, StreamServices, Workload } from './workload.ts';

export type InferenceServices = StreamServices &
  Readonly<{
    authenticate: Authenticate;
    /** How many bytes of request bodies this node reads at a time. */
    bodies: BodyBudget;
    catalog: () => ActiveCatalog;
    conversations: Conversations;
    /** What providers are told about whom a request is for. */
    identify: IdentifyUpstream;
    admission: Admission;
    earlyCalls: EarlyCalls;
    recordAttempts: RecordAttempts;
    idempotency: Idempotency;
    ledger: Ledger;
    limits: LimitsInForce;
  }>;

/** A request that can be served if its cost can be held. */
type Planning<Planned> = Readonly<{
  key: ApiKey;
  plan: Planned;
  generation: OpenGeneration;
  candidates: CandidatesInTurn;
  claim: Claim | null;
  client: AbortSignal;
  context: RequestContext;
}>;

type Whole<Answer> = Readonly<{ status: number; answer: Answer }>;

/** Serves the requests of one workload. */
export class Inference<Wanted, Planned extends Plan, Job, Answer, Opened> {
  readonly #workload: Workload<Wanted, Planned, Job, Answer, Opened>;
  readonly #services: InferenceServices;
  readonly #whole: Exchange<Job, Whole<Answer>>;

  constructor(workload: Workload<Wanted, Planned, Job, Answer, Opened>, services: InferenceServices) {
    this.#workload = workload;
    this.#services = services;
    this.#whole = {
      open: workload.call,
      discard: (job, { answer }, { cost }, generation) => {
        const charge = workload.bill(job, answer, new Date(), cost);
        if (charge !== null) generation.noteUsed(charge.reported);
      },
      respond: (run, opening) => this.#respond(run, opening),
    };
  }

  /** For holders of API keys. */
  readonly handle: Handler = async (request, context) => {
    const { authenticate, bodies } = this.#services;
    this.#begin(context);
    const found = authenticated(authenticate, request, context);
    const key = found instanceof Promise ? await found : found;
    readQuery(request.url, this.#workload.queryParameters ?? []);
    const onRead = (sizeBytes: number) => {
      context.bodyBytes = sizeBytes;
    };
    const { keepsNumbers } = this.#workload;
    const body = await readInferenceBody(request, bodies, key.accountId, onRead, keepsNumbers);
    return await this.serve(key, body, request, context);
  };

  /** The rest, once it is known which key pays, whether it came in a header or from a session. */
  async serve(key: ApiKey, body: unknown, request: Request, context: RequestContext): Promise<Response> {
    const workload = this.#workload;
    const { admission, catalog, conversations, identify, ledger, limits, log } = this.#services;
    context.caller = key;
    const asked = context.asked ?? this.#begin(context);
    asked.model = modelIn(body);
    const wanted = workload.parse(body, { headers: request.headers, accountId: key.accountId });
    const attribution = readAttribution(request.headers, workload.attributionOf?.(wanted) ?? null);
    asked.attribution = attribution;
    admission.checkWait(key);
    context.waitPatiently();
    return await this.#once(key, body, request, context, async (claim) => {
      const active = atPricesOf(catalog(), key.priceGroup);
      const plan = workload.plan(wanted, active, key.allowedModels);
      asked.model = plan.model;
      const priceListId = active.priceList.knownId ?? (await active.priceList.store());
      const applied = limits.of(key, attribution?.endUser ?? null);
      const facts = {
        id: context.id,
        accountId: key.accountId,
        keyId: key.id,
        workload: workload.name,
        api: workload.api,
        model: plan.model,
        streaming: workload.isStreamed(wanted),
        priceListId,
        idempotencyHash: claim?.request.idempotencyHash ?? null,
        createdAtMs: Date.now(),
        attribution,
        limits: applied instanceof Promise ? await lookUp('balance_lookup_failed', () => applied) : applied,
      };
      const conversation = conversations.of(key.accountId, plan.model, plan.conversation, plan.candidates);
      const order = inOrder(plan.candidates, Math.random);
      const candidates = new CandidatesInTurn(order, key.accountId, true, conversation);
      const preferred = plan.candidates[0]?.connection.provider.name ?? '';
      const first = candidates.current;
      const generation = new OpenGeneration(facts, preferred, first, context.trace, ledger, log, identify);
      context.generation = generation;
      const planning = { key, plan, generation, candidates, claim, client: request.signal, context };
      return facts.streaming && workload.stream !== null
        ? await this.#admit(planning, workload.stream)
        : await this.#admit(planning, this.#whole);
    });
  }

  /** Whenever a provider is called, nothing is sent to the client before the hold is committed. */
  async #admit<Result>(
    { key, plan, generation, candidates, claim, client, context }: Planning<Planned>,
    exchange: Exchange<Job, Result>,
  ): Promise<Response> {
    const workload = this.#workload;
    const { admission, earlyCalls, recordAttempts } = this.#services;
    const accept = (amount: Money, tokens: number | null = null) => workload.accept(plan, amount, tokens);
    const first = candidates.current;
    // Whether an idempotent request still has its claim is known only with its hold.
    const early =
      claim !== null || first === null ? null : earlyCalls.to(first.candidate, generation, exchange, accept);
    const hold = await admission.hold(generation, key, plan, context.lookupMs, early).finally(() => {
      context.mayBeHeld = generation.mayBeHeld;
    });
    context.rate = hold.rate;
    if (hold.outcome === 'denied')
      throw admission.denial(key, plan.hold, hold, {
        advice: (available) => workload.advice(plan, available, hold.code),
        fittingTokens: (available) => workload.fittingTokens?.(plan, available) ?? null,
      });
    const begun = early?.held(hold) ?? null;
    // A provider that was called early is paid, so a client that has left is charged as at any later moment.
    if (client.aborted && begun === null) {
      await generation.abandon();
      return new Response();
    }
    context.tokenRate = hold.tokens?.rate ?? null;
    const job = begun?.job ?? accept(hold.amount, hold.tokens?.count ?? null);
    const opening = attemptInTurn(
      generation,
      candidates,
      client,
      recordAttempts,
      (candidate) => exchange.open(job, candidate, generation),
      begun?.opening,
    );
    const run = { requestId: context.requestId, job, generation, claim, client };
    return await exchange.respond(run, opening, this.#services);
  }

  #begin(context: RequestContext): AskedRequest {
    context.asked = { api: this.#workload.api, model: null, attribution: null };
    return context.asked;
  }

  /** With an idempotency key the request runs only if it gets the claim. Otherwise it gets the stored response. */
  #once(
    key: ApiKey,
    body: unknown,
    request: Request,
    { id }: RequestContext,
    run: (claim: Claim | null) => Promise<Response>,
  ): Promise<Response> {
    const { admission, idempotency } = this.#services;
    const idempotencyKey = readIdempotencyKey(request.headers);
    if (idempotencyKey === null) return run(null);
    const incoming = {
      id,
      keyId: key.id,
      route: this.#workload.route,
      body,
      client: request.signal,
      countReplay: () => admission.countReplay(key, id),
      presentError: errorPresenter(request),
    };
    return idempotency.once(idempotencyKey, incoming, run);
  }

  /** A non-streamed response. It is sent, and stored for retries, only with its charge. */
  async #respond(
    { requestId, job, generation, claim, client }: Run<Job>,
    opening: Promise<Whole<Answer>>,
  ): Promise<Response> {
    const workload = this.#workload;
    const { status, answer } = await opening;
    const finishedAt = new Date();
    const charge = workload.bill(job, answer, finishedAt, generation.providerPrice);
    if (charge !== null) generation.noteUsed(charge.reported);
    generation.noteFinish(workload.finishReasonOf?.(answer) ?? null);
    generation.attemptSucceeded(status);
    if (charge === null) {
      await generation.settle(failure('billing_consistency_error', 'usage_missing'));
      throw new ApiError('billing_consistency_error');
    }
    const createdSeconds = Math.floor(generation.facts.createdAtMs / 1000);
    const body = JSON.stringify(workload.present(job, answer, charge, requestId, createdSeconds));
    const headers = { ...jsonHeaders, [costHeader]: formatMoneyShort(charge.cost.total) };
    const stored = claim === null ? null : await claim.toStore(body, headers, null);
    // A client that disconnected still caused the work, so it is charged.
    const ending = completed(charge, client.aborted ? 'cancelled' : 'completed', 'withhold', stored);
    // A retry gets the response if it is stored, so its charge stands then, even if this response has to be withheld.
    const isReplayable = claim?.isReplayable === true;
    await settleBeforeDelivery(generation, ending, isReplayable ? 'refund_unless_stored' : 'refund');
    // A claim without a stored response is released where it was made.
    if (stored !== null) claim?.handOver();
    return new Response(body, { headers });
  }
}

const jsonHeaders = { 'content-type': 'application/json;charset=utf-8' };
/** What the response was charged, exactly. The formats have no place for it in their bodies. */
const costHeader = 'x-service-cost-usd';

/** As every format names it, even in a body that turns out to be wrong. */
function modelIn(body: unknown): string | null {
  const model = typeof body === 'object' && body !== null && 'model' in body ? body.model : null;
  return typeof model === 'string' ? model : null;
}

/** How long this takes is noted: the client's patience with the database has to suffice for the hold, too. */
function authenticated(
  authenticate: Authenticate,
  request: Request,
  context: RequestContext,
): ApiKey | Promise<ApiKey> {
  const found = authenticate(request, context, 'api_keys_lookup_failed');
  if (!(found instanceof Promise)) return found;
  const startedAtMs = performance.now();
  return found.finally(() => {
    context.lookupMs = performance.now() - startedAtMs;
  });
}

/** An error in the body itself links to the section about bodies. */
export async function readInferenceBody(
  request: Request,
  budget: BodyBudget,
  accountId: string,
  onRead: (sizeBytes: number) => void = () => undefined,
  keepsNumbers = false,
): Promise<unknown> {
  try {
    return await readJsonBody(request, { payer: { budget, accountId }, onRead, keepsNumbers });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw error.with({ docs: error.code === 'server_overloaded' ? 'chat#large-bodies' : 'chat#bodies' });
  }
}
