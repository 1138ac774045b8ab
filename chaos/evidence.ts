/** The three logs of a run, side by side under the request ID. */
import type { NetworkLog } from './bad-network.ts';
import type { Seen } from './client-call.ts';
import type { LedgerLog } from './ledger-log.ts';
import type { ProviderCall } from './upstream.ts';
import type { Watched } from './watcher.ts';

export type Evidence = Readonly<{
  seen: readonly Seen[];
  /** What was special about each request, by its token. */
  kinds: ReadonlyMap<string, string>;
  /** By request ID. Of one request there is a call for each provider that was tried and got it. */
  calls: ReadonlyMap<string, readonly ProviderCall[]>;
  ledger: LedgerLog;
  watched: Watched;
  network: NetworkLog;
}>;

export function joinCalls(calls: readonly ProviderCall[]): ReadonlyMap<string, readonly ProviderCall[]> {
  return Map.groupBy(calls, (call) => call.requestId);
}

/** What was special about a request, also if its client never saw a request ID: the token went through to the provider. */
export function kindOf({ calls, kinds }: Evidence, requestId: string): string {
  const token = calls.get(requestId)?.[0]?.token ?? '';
  return kinds.get(token) ?? 'unknown';
}
