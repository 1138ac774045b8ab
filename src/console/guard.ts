/**
 * What every call of the dashboard passes first: it comes from the dashboard itself, and from someone who is signed in.
 * What that person may see or change is decided in each query, by the membership that it joins.
 */
import type { BunRequest } from 'bun';
import { ApiError } from '../errors.ts';
import type { Handler, RequestContext } from '../http/context.ts';
import { isFromHere } from '../http/origin.ts';
import type { SignedIn } from '../sessions/sessions.ts';
import { createTurns, type InTurn } from './turns.ts';

export type ConsoleContext = RequestContext & Readonly<{ signedIn: SignedIn; params: PathParameters }>;
/** With what waits for this person's turn. */
export type ConsoleContextAtLength = ConsoleContext & Readonly<{ inTurn: InTurn }>;
export type ConsoleHandler = (request: Request, context: ConsoleContext) => Promise<Response>;

/** The named parts of the path. */
export type PathParameters = Readonly<Record<string, string>>;

/** A page asks for a few things at a time, and the database has ten connections for everyone. */
const turns = createTurns(4, 100);

/** For everyone who is signed in. */
export function forSignedIn(handler: ConsoleHandler): Handler {
  return forSignedInAtLength((request, context) => context.inTurn(() => handler(request, context)));
}

/** For answers that take long without work of the gateway's own: the handler says itself what is done in turn. */
export function forSignedInAtLength(
  handler: (request: Request, context: ConsoleContextAtLength) => Promise<Response>,
): Handler {
  return async (request, context) => {
    refuseStrangers(request, context);
    const signedIn = await whoIs(request, context);
    const { params } = request as BunRequest;
    const inTurn: InTurn = (run) => turns.inTurnOf(signedIn.userId, run);
    return await handler(request, { ...context, signedIn, params, inTurn });
  };
}

/** For those who run the gateway. */
export function forOperators(handler: ConsoleHandler): Handler {
  return forSignedIn(async (request, context) => {
    if (!context.signedIn.isOperator) throw new ApiError('permission_denied');
    return await handler(request, context);
  });
}

export function refuseStrangers(request: Request, { services }: RequestContext): void {
  if (!isFromHere(request, services.publicUrl)) throw new ApiError('invalid_origin');
}

async function whoIs(request: Request, { services }: RequestContext): Promise<SignedIn> {
  const signedIn = await services.sessions.find(request.headers).catch((cause: unknown) => {
    throw new ApiError('authentication_unavailable', { cause });
  });
  if (signedIn === null) throw new ApiError('session_required');
  return signedIn;
}
