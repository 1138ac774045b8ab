/** A member in the words of the console's contract. */
import type { Member } from '../contract.ts';
import type { MemberRecord } from './member-queries.ts';

export function presentMember({ id, email, name, role, joinedAt }: MemberRecord): Member {
  return { id, email, name, role, created_at: joinedAt.toISOString() };
}
