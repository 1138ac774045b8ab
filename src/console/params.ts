/** The named parts of a path. They are the caller's text until they have the form of an ID. */
import { ApiError, type ErrorCode } from '../errors.ts';
import type { PathParameters } from './guard.ts';

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether the database can take a text for an ID. It would fail on any other, and that is no answer to a client. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** The account in the path. What cannot be an ID is the ID of nothing. */
export function accountIn(params: PathParameters): string {
  return idIn(params, 'account', 'account_not_found');
}

/** Another ID in the path; `missing` is what an ID that does not exist is answered with. */
export function idIn(params: PathParameters, name: string, missing: ErrorCode): string {
  const text = params[name] ?? '';
  if (!isUuid(text)) throw new ApiError(missing);
  return text.toLowerCase();
}
