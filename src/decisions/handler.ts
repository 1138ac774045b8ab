/**
 * POST /api/decisions/run: same origin → session → size → JSON → questions → configured → model → the provider. It has its
 * own error body, so it catches every error itself.
 */
import { ApiError } from '../errors.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import { BodyError, type Payer, readBodyBytes } from '../http/body-bytes.ts';
import type { RequestContext } from '../http/context.ts';
import { isSameOrigin } from '../http/origin.ts';
import { readQuery } from '../http/query.ts';
import { maxDepth, parseJsonBody } from '../json/body.ts';
import { formatPath } from '../json/path.ts';
import type { Log } from '../lib/log.ts';
import { defaultPace } from '../lib/read-body.ts';
import type { Sessions, SignedIn } from '../people/sessions.ts';
import type { Decider, DecisionRequest } from './decider.ts';
import { DecisionError, decisionErrorTable } from './errors.ts';
import { DecisionFault, parseDecision } from './parse.ts';
import { presentDecision, presentDecisionError } from './present.ts';
import { createDecisionSlots, type InSlotOf } from './slots.ts';

export const maxDecisionBytes = 262_144;
/** A state may be a table: many values in few bytes. Few people ask at a time. */
const bodyLimits = { depth: maxDepth, values: 100_000, keys: 10_000 };

type Services = Readonly<{
  bodies: BodyBudget;
  /** Null when no decision provider is configured. */
  decisions: () => Decider | null;
  publicUrl: string | null;
  log: Log;
  sessions: Pick<Sessions, 'find'>;
}>;

type Context = Pick<RequestContext, 'requestId'>;

export function runDecision(services: Services): (request: Request, context: Context) => Promise<Response> {
  const inSlotOf = createDecisionSlots();
  return async (request, { requestId }) => {
    const response = await decide(request, requestId, services, inSlotOf).catch((thrown: unknown) =>
      errorResponse(thrown, request, requestId, services.log),
    );
    response.headers.set('cache-control', 'no-store');
    response.headers.set('x-content-type-options', 'nosniff');
    return response;
  };
}

async function decide(
  request: Request,
  requestId: string,
  services: Services,
  inSlotOf: InSlotOf,
): Promise<Response> {
  if (!isSameOrigin(request, services.publicUrl)) throw new DecisionError('invalid_origin');
  const { userId } = await requireSession(request, services.sessions);
  const decision = await readRequest(request, { budget: services.bodies, accountId: userId });
  const decider = services.decisions();
  if (decider === null) throw new DecisionError('not_configured');
  if (decision.model !== decider.model)
    throw invalid(`model must be ${JSON.stringify(decider.model)}, the decision model of this gateway.`);
  const { signal } = request;
  const decided = await inSlotOf(userId, signal, (waitedMs) =>
    decider.decide(decision, requestId, signal, { userId, waitedMs }),
  );
  return Response.json(presentDecision(decided, requestId));
}

/** API keys are not accepted: this endpoint belongs to the dashboard. */
async function requireSession(request: Request, sessions: Pick<Sessions, 'find'>): Promise<SignedIn> {
  const signedIn = await sessions.find(request.headers).catch((cause: unknown) => {
    throw new DecisionError('authentication_unavailable', { cause });
  });
  if (signedIn === null) throw new DecisionError('authentication_error');
  if (signedIn.mustVerify)
    throw new DecisionError('authentication_error', {
      message: 'Verify your e-mail address to run decisions.',
    });
  return signedIn;
}

async function readRequest(request: Request, payer: Payer): Promise<DecisionRequest> {
  const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw invalid('The Content-Type must be application/json.');
  try {
    const bytes = await readBodyBytes(request, { maxBytes: maxDecisionBytes, payer, pace: defaultPace });
    readQuery(request.url, []);
    const body = parseJsonBody(bytes, () => bodyLimits) as Readonly<Record<string, unknown>>;
    return parseDecision(body, new TextDecoder().decode(bytes));
  } catch (thrown) {
    throw asDecisionError(thrown);
  }
}

/** Code shared with other endpoints throws their errors. */
function asDecisionError(thrown: unknown): unknown {
  if (thrown instanceof DecisionFault) return invalid(`${formatPath(thrown.path)} ${thrown.message}.`);
  if (thrown instanceof BodyError)
    return thrown.reason === 'too_large'
      ? new DecisionError('request_too_large')
      : new DecisionError('invalid_json', { message: thrown.message, cause: thrown });
  if (!(thrown instanceof ApiError)) return thrown;
  const { code, message, param } = thrown;
  if (code === 'server_overloaded') return new DecisionError('rate_limit', { message });
  if (code === 'invalid_json') return new DecisionError('invalid_json', { message });
  return invalid(param === undefined ? message : `${param}: ${message}`);
}

function invalid(message: string): DecisionError {
  return new DecisionError('validation_error', { message });
}

/**
 * The contract has no status 500 here, so a defect of ours is a `provider_error` too. It can be told apart because it names
 * no provider.
 */
function errorResponse(thrown: unknown, request: Request, requestId: string, log: Log): Response {
  const error =
    thrown instanceof DecisionError
      ? thrown
      : new DecisionError('provider_error', {
          message: 'Something unexpected went wrong. The request ID identifies the incident.',
          cause: thrown,
        });
  const { status, type } = decisionErrorTable[error.reason];
  const { upstream, cause, retryAfterSeconds } = error;
  // A client that left is not a failure.
  if (status >= 500 && !request.signal.aborted)
    log.error('request failed', {
      requestId,
      route: '/api/decisions/run',
      code: type,
      ...(upstream === null ? {} : { provider: upstream.provider }),
      ...(upstream?.status == null ? {} : { upstreamStatus: upstream.status }),
      ...(cause === undefined ? {} : { error: cause }),
    });
  const headers = new Headers();
  if (retryAfterSeconds !== null) headers.set('retry-after', `${retryAfterSeconds}`);
  // The rest of a body that arrives too slowly is not read.
  if (cause instanceof BodyError && cause.endsConnection) headers.set('connection', 'close');
  return Response.json(presentDecisionError(error, requestId), { status, headers });
}
