/** The Idempotency-Key header: the client's own identifier of one logical operation. */
import { ApiError } from '../errors.ts';

const header = 'Idempotency-Key';

/** Null when the request has none. */
export function readIdempotencyKey(headers: Headers): string | null {
  const key = headers.get(header);
  if (key === null) return null;
  // HTTP itself drops spaces at both ends.
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new ApiError('invalid_parameter', {
    param: header,
    message: `${header} must have 1 to 255 printable ASCII characters.`,
  });
}

/** The key was used before for another request, so neither its response nor a new one would be right. */
export function otherBody(): ApiError {
  return new ApiError('invalid_parameter', {
    param: header,
    message: `This ${header} was used with another request. Use a new one for each different request.`,
  });
}
