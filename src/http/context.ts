import type { SQL } from 'bun';
import type { Idempotency } from '../idempotency/once.ts';
import type { AbandonedStreams } from '../inference/abandoned-streams.ts';
import type { Admitter } from '../inference/admit.ts';
import type { NoteAttempts } from '../inference/run.ts';
import type { KeyCache } from '../keys/key-cache.ts';
import type { DerivedKeys } from '../lib/derived-keys.ts';
import type { Log } from '../lib/log.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';

/** What main.ts puts together and every handler may use. */
export type Services = Readonly<{
  log: Log;
  sql: SQL;
  keys: KeyCache;
  catalog: () => ActiveCatalog;
  admitter: Admitter;
  noteAttempts: NoteAttempts;
  abandoned: AbandonedStreams;
  idempotency: Idempotency;
  /** Keys for signing and encrypting, by purpose. */
  deriveKey: DerivedKeys;
  isDraining: () => boolean;
  isDatabaseReachable: () => Promise<boolean>;
}>;

/** `id` is the UUID inside the request ID, the form that the database knows. */
export type RequestContext = Readonly<{ id: string; requestId: string; services: Services }>;
export type Handler = (request: Request, context: RequestContext) => Response | Promise<Response>;
