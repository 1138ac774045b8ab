/** The bytes of a request, within bounds. */
import { readCounted } from '../lib/read-counted.ts';
import { DecisionError } from './errors.ts';

export const mostBodyBytes = 262_144;

export async function readBody(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => new DecisionError('request_too_large');
  if (Number(request.headers.get('content-length')) > mostBodyBytes) throw tooLarge();
  try {
    return await readCounted(request.body, mostBodyBytes, tooLarge);
  } catch (thrown) {
    if (thrown instanceof DecisionError) throw thrown;
    throw new DecisionError('invalid_json', {
      message: 'The request body could not be read to its end.',
      cause: thrown,
    });
  }
}
