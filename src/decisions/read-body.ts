/** The bytes of a request, within bounds. */
import { type Pace, readPaced } from '../lib/read-paced.ts';
import { LateError } from '../lib/within.ts';
import { DecisionError } from './errors.ts';

export const mostBodyBytes = 262_144;

/** Nothing is set aside for so little, however many of them come. */
const expectedBytes = 4_096;

export async function readBody(request: Request, pace?: Pace): Promise<Uint8Array<ArrayBuffer>> {
  const check = (sizeBytes: number) => {
    if (sizeBytes > mostBodyBytes) throw new DecisionError('request_too_large');
  };
  check(Number(request.headers.get('content-length')));
  try {
    return await readPaced(request.body, expectedBytes, check, pace);
  } catch (thrown) {
    if (thrown instanceof DecisionError) throw thrown;
    throw new DecisionError('invalid_json', {
      message:
        thrown instanceof LateError
          ? 'The request body came too slowly.'
          : 'The request body could not be read to its end.',
      cause: thrown,
    });
  }
}
