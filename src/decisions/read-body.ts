/** The bytes of a request, within bounds. */
import { ApiError } from '../errors.ts';
import { type Pace, readPaced } from '../lib/read-paced.ts';
import { LateError } from '../lib/within.ts';
import { DecisionError } from './errors.ts';

export const mostBodyBytes = 262_144;

/** What bodies above `freeBytes` take room from. Both throw an ApiError when there is none. */
type Room = Readonly<{
  freeBytes: number;
  checkGrowthTo: (bytes: number) => void;
  growTo: (bytes: number) => void;
}>;

export async function readBody(request: Request, room: Room, pace?: Pace): Promise<Uint8Array<ArrayBuffer>> {
  const announcedBytes = Number(request.headers.get('content-length'));
  const check = (sizeBytes: number) => {
    if (sizeBytes > mostBodyBytes) throw new DecisionError('request_too_large');
    if (sizeBytes > room.freeBytes) room.growTo(sizeBytes);
  };
  if (announcedBytes > mostBodyBytes) throw new DecisionError('request_too_large');
  if (announcedBytes > room.freeBytes) room.checkGrowthTo(announcedBytes);
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
