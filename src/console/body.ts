import { readJsonBody } from '../http/json-body.ts';

/** Nothing that the dashboard sends is larger, but for a chat in the playground. */
const maxBytes = 64 * 1024;

export function readSmallBody(request: Request): Promise<unknown> {
  return readJsonBody(request, { maxBytes });
}
