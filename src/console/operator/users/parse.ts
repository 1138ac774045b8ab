import { z } from 'zod';
import { ApiError } from '../../../errors.ts';
import { isEmailAddress } from '../../../users/user-store.ts';
import { bodyOf, readBody, role, uuid } from '../fields.ts';
import type { InvitedUser } from './user-queries.ts';

const boolean = z.boolean('true or false');
const account = uuid('the ID of an account');

const userDraft = bodyOf({
  email: z.string('an e-mail address').refine(isEmailAddress, 'an e-mail address'),
  is_operator: boolean.optional(),
  account_id: account.nullable().optional(),
  role: role.optional(),
});

const confirmation = { confirm_unverified: boolean.default(false) };

export const userChange = bodyOf({ is_operator: boolean, ...confirmation });
export const userMembership = bodyOf({ account_id: account, role, ...confirmation });

export async function readUserDraft(request: Request): Promise<InvitedUser> {
  const draft = await readBody(request, userDraft);
  const { is_operator: isOperator = false, account_id: accountId = null } = draft;
  // Whoever has neither would sign in to nothing.
  if (!isOperator && accountId === null)
    throw new ApiError('missing_required_parameter', {
      param: 'account_id',
      message: 'A user belongs to an account, or is an operator, or both.',
    });
  return { email: draft.email.toLowerCase(), isOperator, accountId, role: draft.role ?? 'owner' };
}
