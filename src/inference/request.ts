/**
 * The life of an inference request, the same for every workload: authenticate → read → parse → claim the idempotency key
 * → plan (model, cost, candidates) → hold → attempt → settle → respond.
 */
import { ApiError } from '../errors.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { Handler, RequestContext } from '../http/context.ts';
import { readQuery } from '../http/query.ts';
import type { Claim } from '../idempotency/claim.ts';
import { readIdempotencyKey } from '../idempotency/idempotency-key.ts';
import type { Idempotency } from '../idempotency/once.ts';
import { readJsonBody } from '../json/body.ts';
import type { Authenticate } from '../keys/authenticate.ts';
import type { ApiKey } from '../keys/key-store.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { completed, failure } from '../ledger/settlement.ts';
import type { Log } from '../lib/log.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { inOrder, Rotation } from '../routing/candidates.ts';
import type { AbandonedStreams } from './abandoned-streams.ts';
import type { Admission } from './admission.ts';
import { attemptInTurn, type RecordAttempts } from './attempts.ts';
import { OpenGeneration, settleBeforeDelivery } from './generation.ts';
import type { Plan, Run, Workload } from './workload.ts';

/** What streaming needs beyond the run itself. */
export type StreamServices = Readonly<{
  log: Log;
  abandoned: AbandonedStreams;
  recordAttempts: RecordAttempts;
}>;

export type InferenceServices = StreamServices &
  Readonly<{
    authenticate: Authenticate;
    /** How many bytes of request bodies this node reads at a time. */
    bodies: BodyBudget;
    catalog: () => ActiveCatalog;
    admission: Admission;
    idempotency: Idempotency;
    ledger: Ledger;
  }>;

/** Serves a workload to holders of API keys. */
export function inferenceHandler<Wanted, Planned extends Plan, Job, Answer>(
  workload: Workload<Wanted, Planned, Job, Answer>,
  services: InferenceServices,
): Handler {
  return async (request, context) => {
    const found = authenticated(services.authenticate, request, context);
    const key = found instanceof Promise ? await found : found;
    readQuery(request.url, []);
    const body = await readInferenceBody(request, services.bodies, key.accountId, (sizeBytes) => {
      context.bodyBytes = sizeBytes;
    });
    return await serveRequest(workload, services, key, body, request, context);
  };
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

/** An error of the body itself names the section about bodies. */
export async function readInferenceBody(
  request: Request,
  budget: BodyBudget,
  accountId: string,
  onRead: (sizeBytes: number) => void = () => undefined,
): Promise<unknown> {
  try {
    return await readJsonBody(request, { payer: { budget, accountId }, onRead });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw error.with({ docs: error.code === 'server_overloaded' ? 'chat#large-bodies' : 'chat#bodies' });
  }
}

/** The rest, once it is known which key pays, whether it came in a header or from a session. */
export async function serveRequest<Wanted, Planned extends Plan, Job, Answer>(
  workload: Workload<Wanted, Planned, Job, Answer>,
  services: InferenceServices,
  key: ApiKey,
  body: unknown,
  request: Request,
  context: RequestContext,
): Promise<Response> {
  context.caller = key;
  const wanted = workload.parse(body);
  services.admission.checkWait(key);
  context.waitPatiently();
  const idempotencyKey = readIdempotencyKey(request.headers);
  if (idempotencyKey === null)
    return await execute(workload, services, key, wanted, request.signal, context, null);
  const { id } = context;
  return await services.idempotency.once(
    idempotencyKey,
    {
      id,
      keyId: key.id,
      route: workload.route,
      body,
      client: request.signal,
      countReplay: () => services.admission.countReplay(key, id),
    },
    (claim) => execute(workload, services, key, wanted, request.signal, context, claim),
  );
}

async function execute<Wanted, Planned extends Plan, Job, Answer>(
  workload: Workload<Wanted, Planned, Job, Answer>,
  services: InferenceServices,
  key: ApiKey,
  wanted: Wanted,
  client: AbortSignal,
  context: RequestContext,
  claim: Claim | null,
): Promise<Response> {
  const { id, requestId } = context;
  const active = services.catalog();
  const plan = workload.plan(wanted, active, key.allowedModels);
  const priceListId = active.priceList.knownId ?? (await active.priceList.store());
  const facts = {
    id,
    accountId: key.accountId,
    keyId: key.id,
    workload: workload.name,
    model: plan.model,
    streaming: workload.isStreamed(wanted),
    priceListId,
    idempotencyHash: claim?.request.idempotencyHash ?? null,
    createdAtMs: Date.now(),
  };
  const rotation = new Rotation(inOrder(plan.candidates, Math.random), key.accountId);
  const preferred = plan.candidates[0]?.connection.provider.name ?? '';
  const generation = new OpenGeneration(
    facts,
    preferred,
    rotation.current,
    context.trace,
    services.ledger,
    services.log,
  );
  context.generation = generation;

  const result = await services.admission.hold(generation, key, plan.hold, context.lookupMs);
  context.rate = result.rate;
  if (result.outcome === 'denied')
    throw services.admission.denial(key, plan.hold, result, (available) => workload.advice(plan, available));
  if (client.aborted) {
    await generation.abandon();
    return new Response();
  }
  const run = { requestId, job: workload.accept(plan, result.amount), generation, rotation, claim, client };
  return facts.streaming && workload.stream !== null
    ? await workload.stream(run, services)
    : await respond(workload, run, services.recordAttempts);
}

const headers = { 'content-type': 'application/json;charset=utf-8' };

/** A non-streamed response. It is sent, and stored for retries, only with its charge. */
async function respond<Wanted, Planned extends Plan, Job, Answer>(
  workload: Workload<Wanted, Planned, Job, Answer>,
  { requestId, job, generation, rotation, claim, client }: Run<Job>,
  recordAttempts: RecordAttempts,
): Promise<Response> {
  const { status, answer } = await attemptInTurn(generation, rotation, client, recordAttempts, (candidate) =>
    workload.call(job, candidate, generation),
  );
  const finishedAt = new Date();
  generation.attemptSucceeded(status);
  const charge = workload.bill(job, answer, finishedAt);
  if (charge === null) {
    await generation.settle(failure('billing_consistency_error', 'usage_missing'));
    throw new ApiError('billing_consistency_error');
  }
  const createdSeconds = Math.floor(generation.facts.createdAtMs / 1000);
  const body = JSON.stringify(workload.present(job, answer, requestId, createdSeconds));
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
