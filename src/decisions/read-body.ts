/** The bytes of a request, within bounds. */
import { ApiError } from '../errors.ts';
import { freeBodyBytes } from '../http/body-budget.ts';
import type { Payer } from '../http/body-bytes.ts';
import { type Pace, readPaced } from '../lib/read-paced.ts';
import { LateError } from '../lib/within.ts';
import { DecisionError } from './errors.ts';

export const mostBodyBytes = 262_144;

/** A body that is not small takes room of its payer's share, which is given back when the response begins. */
export async function readBody(
  request: Request,
  { budget, accountId }: Payer,
  pace?: Pace,
): Promise<Uint8Array<ArrayBuffer>> {
  const announcedBytes = Number(request.headers.get('content-length'));
  const room = budget.roomFor(request, accountId);
  const check = (sizeBytes: number) => {
    if (sizeBytes > mostBodyBytes) throw new DecisionError('request_too_large');
    if (sizeBytes > freeBodyBytes) room.growTo(sizeBytes);
  };
  if (announcedBytes > mostBodyBytes) throw new DecisionError('request_too_large');
  if (announcedBytes > freeBodyBytes) room.checkGrowthTo(announcedBytes);
  try {
    return await readPaced(request.body, announcedBytes || mostBodyBytes, check, pace);
  } catch (thrown) {
    if (thrown instanceof DecisionError || thrown instanceof ApiError) throw thrown;
    throw new DecisionError('invalid_json', {
      message:
        thrown instanceof LateError
          ? 'The request body came too slowly.'
          : 'The request body could not be read to its end.',
      cause: thrown,
    });
  }
}
