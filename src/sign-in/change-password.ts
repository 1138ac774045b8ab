import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { replacePassword } from '../sessions/reset-link.ts';
import { findSession } from '../sessions/session-store.ts';
import type { SignedIn } from '../sessions/sessions.ts';
import { isPasswordHash, lockUsers } from '../users/user-store.ts';

export function wrongPassword(): ApiError {
  return new ApiError('invalid_credentials', {
    param: 'currentPassword',
    message: 'The present password is wrong.',
  });
}

/**
 * Of two at once with the same password the first wins, and has ended the session of the other: what either knew before
 * it waited is asked again once nobody else can change it.
 */
export async function changeKnownPassword(
  sql: SQL,
  { userId, sessionId }: Pick<SignedIn, 'userId' | 'sessionId'>,
  currentHash: string,
  newHash: string,
): Promise<void> {
  await sql.begin(async (transaction) => {
    await lockUsers(transaction, userId);
    if ((await findSession(transaction, userId, sessionId)) === null) throw new ApiError('session_required');
    if (!(await isPasswordHash(transaction, userId, currentHash))) throw wrongPassword();
    await replacePassword(transaction, userId, newHash);
  });
}
