/** The Idempotency-Key of a request: the client's own name for one logical operation. */
import { ApiError } from '../errors.ts';

const header = 'Idempotency-Key';

/** Null when the request has none. */
export function readRequestName(headers: Headers): string | null {
  const name = headers.get(header);
  if (name === null) return null;
  // HTTP itself drops spaces at both ends.
  if (/^[\x20-\x7e]{1,255}$/.test(name)) return name;
  throw new ApiError('invalid_parameter', {
    param: header,
    message: `${header} must have 1 to 255 printable ASCII characters.`,
  });
}

/** The name was used before for something else: answering with that, or with this, would both be wrong. */
export function otherBody(): ApiError {
  return new ApiError('invalid_parameter', {
    param: header,
    message: `This ${header} was used with another request. Use a new one for each different request.`,
  });
}
