import type { SessionSummary } from '../sessions/sessions.ts';
import type { UserProfile } from '../users/user-store.ts';
import type { ListedSession } from './contract.ts';

/** One's own session, in better-auth's words. */
export function presentSession(session: SessionSummary) {
  const { id, userId, ipAddress, userAgent, expiresAt, createdAt, updatedAt } = session;
  return {
    id,
    userId,
    ipAddress,
    userAgent,
    expiresAt: expiresAt.toISOString(),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

export function presentListedSession(session: SessionSummary, currentId: string): ListedSession {
  const { userId: _, ...listed } = presentSession(session);
  return { ...listed, isCurrent: session.id === currentId };
}

export function presentUser(user: UserProfile) {
  const { id, email, name, image, isEmailVerified, isOperator, createdAt, updatedAt } = user;
  return {
    id,
    email,
    name,
    image,
    emailVerified: isEmailVerified,
    isOperator,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
