/**
 * Every call of the dashboard passes the guard first: it must come from the dashboard itself, and from a signed-in user.
 * What that user may see or change is decided in each query, by the membership that it joins. Whoever has to verify their
 * address changes nothing at all.
 */
import type { BunRequest } from 'bun';
import type { DashboardActor } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import type { Handler, RequestContext } from '../http/context.ts';
import { isFromHere } from '../http/origin.ts';
import { BoundedQueue, OverloadError } from '../lib/bounded-queue.ts';
import type { Sessions, SignedIn } from '../people/sessions.ts';
import { accountIn, type Caller, type PathParameters } from './access.ts';

type InSlot = <Result>(run: () => Promise<Result>) => Promise<Result>;

export type ConsoleContext = Readonly<{
  base: RequestContext;
  signedIn: SignedIn;
  /** The same user, for the audit log. */
  actor: DashboardActor;
  params: PathParameters;
  /** Runs something in one of the user's slots, and of the account's, once there is one free. */
  inSlot: InSlot;
}>;
export type AccountContext = ConsoleContext & Readonly<{ caller: Caller }>;
export type ConsoleHandler = (request: Request, context: ConsoleContext) => Promise<Response>;
export type AccountHandler = (request: Request, context: AccountContext) => Promise<Response>;

/** The routes of a page: a path below the page's prefix, then a method. */
export type Routes<PageHandler> = Readonly<
  Record<string, Partial<Record<'GET' | 'POST' | 'PATCH' | 'DELETE', PageHandler>>>
>;

type GuardServices = Readonly<{
  sessions: Pick<Sessions, 'find'>;
  /** The gateway's address as browsers know it; null when the operator has not configured it. */
  publicUrl: string | null;
}>;

/** The dashboard requests a few things at a time, and the database has ten connections for all users. */
const maxRunning = 4;
/** However many members an account has: what they look at is refreshed by itself. */
const maxRunningPerAccount = 4;
const maxWaiting = 100;
/** Nobody waits for longer. Whoever waits for a slot of one account has none of their own for another meanwhile. */
const maxWaitMs = 4_000;

export function createGuard({ sessions, publicUrl }: GuardServices) {
  const slots = createSlots(maxRunning, maxWaiting, maxWaitMs);
  const aboutAccount = inSlotsOfAccounts();

  /** Needs no session. */
  const forEveryone =
    (handler: Handler): Handler =>
    (request, context) => {
      requireOwnOrigin(request);
      return handler(request, context);
    };

  /** For responses that take long but cost the gateway little: the handler chooses what runs in a slot. */
  const forSignedInAtLength =
    (handler: ConsoleHandler): Handler =>
    async (request, context) => {
      requireOwnOrigin(request);
      const signedIn = await findSession(request);
      if (signedIn.mustVerify && request.method !== 'GET') throw new ApiError('email_verification_required');
      const { params } = request as BunRequest;
      const inSlot: InSlot = (run) => slots.inSlotOf(signedIn.userId, run);
      const actor: DashboardActor = {
        door: 'dashboard',
        userId: signedIn.userId,
        address: context.clientAddress(),
      };
      return await handler(request, { base: context, signedIn, actor, params, inSlot });
    };

  const forSignedIn = (handler: ConsoleHandler): Handler =>
    forSignedInAtLength((request, context) => context.inSlot(() => handler(request, context)));

  const ifOperator =
    (handler: ConsoleHandler): ConsoleHandler =>
    async (request, context) => {
      if (!context.signedIn.isOperator) throw new ApiError('permission_denied');
      return await handler(request, context);
    };

  function requireOwnOrigin(request: Request): void {
    if (!isFromHere(request, publicUrl)) throw new ApiError('invalid_origin');
  }

  async function findSession(request: Request): Promise<SignedIn> {
    const signedIn = await sessions.find(request.headers).catch((cause: unknown) => {
      throw new ApiError('authentication_unavailable', { cause });
    });
    if (signedIn === null) throw new ApiError('session_required');
    return signedIn;
  }

  return {
    forEveryone,
    forSignedIn,
    forOperators: (handler: ConsoleHandler): Handler => forSignedIn(ifOperator(handler)),
    forOperatorsAtLength: (handler: ConsoleHandler): Handler => forSignedInAtLength(ifOperator(handler)),
    /** For pages about the account in the path. Their queries check that the user is a member. */
    forAccount: (handler: AccountHandler): Handler => forSignedIn(aboutAccount.atOnce(handler)),
    forAccountAtLength: (handler: AccountHandler): Handler =>
      forSignedInAtLength(aboutAccount.atLength(handler)),
  };
}

function inSlotsOfAccounts() {
  const slots = createSlots(maxRunningPerAccount, maxWaiting, maxWaitMs);
  const about = (context: ConsoleContext): AccountContext => ({
    ...context,
    caller: { userId: context.signedIn.userId, accountId: accountIn(context.params) },
  });

  /** Operators need none: an account's members could keep them from looking into it, and operators are few. */
  const inSlotOfAccount = <Result>({ signedIn, caller }: AccountContext, run: () => Promise<Result>) =>
    signedIn.isOperator ? run() : slots.inSlotOf(caller.accountId, run);

  /** Nobody waits for a body of someone else that is slow to arrive: changes need no slot of the account. */
  const atOnce =
    (handler: AccountHandler): ConsoleHandler =>
    async (request, context) => {
      const ofAccount = about(context);
      const run = () => handler(request, ofAccount);
      return request.method === 'GET' ? await inSlotOfAccount(ofAccount, run) : await run();
    };

  const atLength =
    (handler: AccountHandler): ConsoleHandler =>
    async (request, context) => {
      const ofAccount = about(context);
      const inSlot: InSlot = (run) => context.inSlot(() => inSlotOfAccount(ofAccount, run));
      return await handler(request, { ...ofAccount, inSlot });
    };

  return { atOnce, atLength };
}

/** Limits how much of the gateway one user, or one account, can occupy with the dashboard. */
export function createSlots(running: number, waiting: number, waitMs: number) {
  const queue = new BoundedQueue({ maxRunningPerOrigin: running, maxWaitingPerOrigin: waiting });
  return {
    inSlotOf: async <Result>(origin: string, run: () => Promise<Result>): Promise<Result> => {
      const signal = AbortSignal.timeout(waitMs);
      return await queue.run({ origin, signal }, run).catch((thrown: unknown) => {
        const isTooMany = thrown instanceof OverloadError || (signal.aborted && thrown === signal.reason);
        throw isTooMany ? tooManyRequests() : thrown;
      });
    },
  };
}

function tooManyRequests(): ApiError {
  return new ApiError('too_many_attempts', {
    retryAfterSeconds: 1,
    message: 'Too many requests are in progress here. Wait until some of them have finished.',
  });
}
