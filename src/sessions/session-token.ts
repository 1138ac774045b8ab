/** Two things about the session's cookie that better-auth does only together with more, some of which hides failures. */
import type { BetterAuthPlugin } from 'better-auth';
import { createAuthEndpoint } from 'better-auth/api';

export const sessionTokenReader = {
  id: 'session-token',
  endpoints: {
    /** The token in the cookie, if this gateway signed it. Says nothing of whether there is still such a session. */
    readSessionToken: createAuthEndpoint.serverOnly({ method: 'POST' }, async (context) => {
      const { secret, authCookies } = context.context;
      const token = await context.getSignedCookie(authCookies.sessionToken.name, secret);
      return { token: token || null };
    }),
    /** Takes the cookie back from the browser. */
    clearSessionCookie: createAuthEndpoint.serverOnly({ method: 'POST' }, async (context) => {
      const { name, attributes } = context.context.authCookies.sessionToken;
      context.setCookie(name, '', { ...attributes, maxAge: 0 });
    }),
  },
} satisfies BetterAuthPlugin;
