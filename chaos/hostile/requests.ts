/** Hostile requests, each made from its number and the seed alone, so that it can be reproduced. */
import type { Random } from '../random.ts';
import { brokenText, heavyBody, oddFields, oddType, uncallable } from './body-requests.ts';
import { bigPromise, brokenHttp, leaver, pipelined } from './connection-requests.ts';
import type { Keys, Maker } from './maker.ts';
import {
  anyRoute,
  decision,
  oddAuthorization,
  oddId,
  oddNameHeader,
  oddQuery,
  signIn,
  unknownKey,
} from './odd-requests.ts';
import { misbehavingProvider } from './provider-requests.ts';
import type { HostileRequest } from './request.ts';

/** How many of each are sent in a million. */
const shares: readonly (readonly [number, Maker])[] = [
  [250_000, brokenText],
  [200_000, oddFields],
  [60, heavyBody],
  [120_000, unknownKey],
  [40_000, oddAuthorization],
  [40_000, oddNameHeader],
  [80_000, oddQuery],
  [40_000, oddId],
  [90_000, anyRoute],
  [30_000, oddType],
  [40_000, misbehavingProvider],
  [20_000, uncallable],
  [10_000, leaver],
  [4_000, bigPromise],
  [20_000, brokenHttp],
  [10_000, pipelined],
  [500, signIn],
  [5_000, decision],
];

const allShares = shares.reduce((sum, [share]) => sum + share, 0);

export function hostileRequest(number: number, random: Random, keys: Keys): HostileRequest {
  let place = random.next() * allShares;
  for (const [share, make] of shares) {
    place -= share;
    if (place < 0) return make(random, keys, number);
  }
  return brokenText(random, keys, number);
}
