/** The logs of a run, side by side under the request ID. */

import type { Seen } from '../trials/client-call.ts';
import type { Exported } from '../trials/exports.ts';
import type { Freeze } from '../trials/freezes.ts';
import type { GatewayKill, Outage } from '../trials/kills.ts';
import type { AskedLimit } from '../trials/limits.ts';
import type { AskedMovement } from '../trials/movement-log.ts';
import type { OutsideLog, OutsideRest } from '../trials/outside.ts';
import type { NetworkLog } from '../world/bad-network.ts';
import type { ProviderCall } from '../world/upstream.ts';
import type { EventLog } from './event-log.ts';
import type { ExportableLines } from './export-log.ts';
import type { EndedGrant } from './grant-log.ts';
import type { LedgerLog } from './ledger-log.ts';
import type { LimitLog } from './limit-log.ts';
import type { PaymentLog } from './payment-log.ts';
import type { Watched } from './watcher.ts';

export type Evidence = Readonly<{
  seen: readonly Seen[];
  /** What was asked for, by its token. */
  asked: ReadonlyMap<string, Asked>;
  /** By request ID. A request has a call for each provider that was tried and received it. */
  calls: ReadonlyMap<string, readonly ProviderCall[]>;
  ledger: LedgerLog;
  /** When PostgreSQL committed each hold, by request ID. What it lost in a crash is not here. */
  holds: ReadonlyMap<string, number>;
  watched: Watched;
  /** What people moved by hand, and how they changed limits. */
  movements: readonly AskedMovement[];
  askedLimits: readonly AskedLimit[];
  limits: LimitLog;
  /** What was exported meanwhile, and what there was to export. */
  exports: readonly Exported[];
  exportable: ExportableLines;
  /** What was told and paid, and what of that was done by whom. */
  events: EventLog;
  payments: PaymentLog;
  endedGrants: readonly EndedGrant[];
  outside: OutsideLog & Readonly<{ rest: OutsideRest }>;
  network: NetworkLog;
  /** Which gateway was killed, and when. */
  kills: readonly GatewayKill[];
  /** When the database was killed, and when it was back. */
  outages: readonly Outage[];
  /** Which gateway was frozen, and when. */
  freezes: readonly Pick<Freeze, 'node' | 'atMs'>[];
}>;

export type Asked = Pick<
  Seen,
  'kind' | 'node' | 'startedAtMs' | 'bounds' | 'firstByteAtMs' | 'ms' | 'outcome' | 'status' | 'code'
>;

export function joinCalls(calls: readonly ProviderCall[]): ReadonlyMap<string, readonly ProviderCall[]> {
  return Map.groupBy(calls, (call) => call.requestId);
}

/** Also for a request whose client never saw a request ID: the token reached the provider. */
export function askedFor({ calls, asked }: Evidence, requestId: string): Asked | null {
  return asked.get(calls.get(requestId)?.[0]?.token ?? '') ?? null;
}

/** Refused before there was a Generation, or when it is unknown whether there is one. */
const notAdmitted = new Set([
  'rate_limit_exceeded',
  'monthly_spend_limit_exceeded',
  'spend_limit_exceeded',
  'limits_changed',
  'insufficient_balance',
  // A gateway that has just started has no keys in its cache, and the database may be away at that moment.
  'api_keys_lookup_failed',
  'balance_lookup_failed',
  'internal_error',
  // The gateway's clock is off.
  'server_not_configured',
]);

/** Whether the client was told that its request was not admitted. A failure inside a stream comes after that. */
export function isRefused({ outcome, status, code }: Pick<Seen, 'outcome' | 'status' | 'code'>): boolean {
  return outcome === 'error' && status !== 200 && notAdmitted.has(code ?? '');
}
