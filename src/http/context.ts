import type { SQL } from 'bun';
import type { Decider } from '../decisions/decider.ts';
import type { ErrorCode } from '../errors.ts';
import type { InferenceServices } from '../inference/answer.ts';
import type { KeyCache } from '../keys/key-cache.ts';
import type { ApiKey } from '../keys/key-store.ts';
import type { DerivedKeys } from '../lib/derived-keys.ts';
import type { IpNetwork } from '../lib/ip-address.ts';
import type { Log } from '../lib/log.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { ActiveCatalog, FollowedCatalog } from '../routing/active-catalog.ts';
import type { Attempts } from '../sessions/attempts.ts';
import type { ResetMail } from '../sessions/reset-mail.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { BodyBudget } from './body-budget.ts';

/** What main.ts puts together and every handler may use. */
export type Services = Readonly<{
  log: Log;
  sql: SQL;
  keys: KeyCache;
  /** How much of request bodies this node takes in at a time. */
  bodies: BodyBudget;
  catalog: () => ActiveCatalog;
  catalogFile: string;
  catalogStatus: FollowedCatalog['status'];
  /** This process among the others, in the table `nodes`. */
  nodeId: string;
  inference: InferenceServices;
  /** Keys for signing and encrypting, by purpose. */
  deriveKey: DerivedKeys;
  sessions: Sessions;
  /** How often something may be tried by those who want to sign in. */
  attempts: Attempts;
  isSignUpOpen: boolean;
  /** Null when the gateway cannot send mail. */
  resetMail: ResetMail | null;
  /** Whose word is taken for the address of a client. */
  trustedProxies: readonly IpNetwork[];
  /** Who decides with the catalogue in force; null when no decision provider is configured. */
  decisions: () => Decider | null;
  /** The gateway's address as browsers know it; null when the operator does not say. */
  publicUrl: string | null;
  isDraining: () => boolean;
  isDatabaseReachable: () => Promise<boolean>;
  /** How this node's clock is off from the database's, in words; null when it is right. */
  clockProblem: () => string | null;
}>;

export type RequestContext = Readonly<{
  /** The UUID inside the request ID, the form that the database knows. */
  id: string;
  requestId: string;
  services: Services;
  /** Null once the client is gone. */
  clientAddress: () => string | null;
  /** The key that the request came with. `failure` is what the endpoint says when that cannot be found out. */
  authenticate: (failure: ErrorCode) => Promise<ApiKey>;
  /** Says which key the request is answered for, so that its answer tells of the rate of that key, whatever it is. */
  noteCaller: (key: ApiKey) => void;
  /** The same with the rate as it was when the request was counted. */
  noteRate: (rate: RateLimit) => void;
  /**
   * Lets the connection be idle for as long as it takes. Called when a provider or the database is all that is left to wait
   * for: their own deadlines end that, but nothing else ends the wait for a client that stays silent.
   */
  waitPatiently: () => void;
}>;
export type Handler = (request: Request, context: RequestContext) => Response | Promise<Response>;
