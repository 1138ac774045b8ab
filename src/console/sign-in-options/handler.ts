/** GET /api/console/sign-in-options: what the sign-in page offers. The only one that needs no session. */
import type { RequestContext } from '../../http/context.ts';
import type { SignInOptions } from '../contract.ts';
import { refuseStrangers } from '../guard.ts';

export function showSignInOptions(request: Request, context: RequestContext): Response {
  refuseStrangers(request, context);
  const { isSignUpOpen, resetMail } = context.services;
  return Response.json({
    sign_up: isSignUpOpen ? 'open' : 'closed',
    password_reset: resetMail === null ? 'operator' : 'email',
  } satisfies SignInOptions);
}
