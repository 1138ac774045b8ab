/** The three logs of a run, side by side under the request ID. */

import type { Seen } from '../trials/client-call.ts';
import type { GatewayKill } from '../trials/kills.ts';
import type { NetworkLog } from '../world/bad-network.ts';
import type { ProviderCall } from '../world/upstream.ts';
import type { LedgerLog } from './ledger-log.ts';
import type { Watched } from './watcher.ts';

export type Evidence = Readonly<{
  seen: readonly Seen[];
  /** What was asked for, by its token. */
  asked: ReadonlyMap<string, Asked>;
  /** By request ID. A request has a call for each provider that was tried and received it. */
  calls: ReadonlyMap<string, readonly ProviderCall[]>;
  ledger: LedgerLog;
  watched: Watched;
  network: NetworkLog;
  /** Which gateway was killed, and when. */
  kills: readonly GatewayKill[];
  /** When the database was killed. */
  databaseKills: readonly number[];
}>;

export type Asked = Pick<Seen, 'kind' | 'node' | 'startedAtMs' | 'bounds'>;

export function joinCalls(calls: readonly ProviderCall[]): ReadonlyMap<string, readonly ProviderCall[]> {
  return Map.groupBy(calls, (call) => call.requestId);
}

/** Also for a request whose client never saw a request ID: the token reached the provider. */
export function askedFor({ calls, asked }: Evidence, requestId: string): Asked | null {
  return asked.get(calls.get(requestId)?.[0]?.token ?? '') ?? null;
}
