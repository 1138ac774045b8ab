/** Three things about sessions that better-auth does only together with more, some of which hides failures. */
import type { BetterAuthPlugin } from 'better-auth';
import { createAuthEndpoint } from 'better-auth/api';
import { z } from 'zod';

export const sessionTokens = {
  id: 'session-token',
  endpoints: {
    /** For whoever has shown to be this user. */
    beginSession: createAuthEndpoint.serverOnly(
      { method: 'POST', body: z.object({ userId: z.string() }) },
      async (context) => {
        const { internalAdapter } = context.context;
        const session = await internalAdapter.createSession(context.body.userId);
        const { name, attributes } = context.context.authCookies.sessionToken;
        const { secret, sessionConfig } = context.context;
        await context.setSignedCookie(name, session.token, secret, {
          ...attributes,
          maxAge: sessionConfig.expiresIn,
        });
        return { sessionId: session.id };
      },
    ),
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
