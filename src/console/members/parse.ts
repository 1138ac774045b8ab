import { z } from 'zod';
import { firstProblem, toApiError } from '../../http/problem.ts';
import type { Role } from '../contract.ts';

const schema = z.strictObject({ role: z.enum(['owner', 'member'], '"owner" or "member"') }, 'a JSON object');

export function parseMemberChange(body: unknown): Role {
  const result = schema.safeParse(body);
  if (!result.success) throw toApiError(firstProblem(result.error.issues, body));
  return result.data.role;
}
