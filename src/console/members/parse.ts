import { z } from 'zod';
import { parseBody } from '../../http/problem.ts';
import type { Role } from '../contract.ts';

const schema = z.strictObject({ role: z.enum(['owner', 'member'], '"owner" or "member"') }, 'a JSON object');

export function parseMemberChange(body: unknown): Role {
  return parseBody(schema, body).role;
}
