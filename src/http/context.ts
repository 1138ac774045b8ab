/** One request: its ID, its connection, and what its response has to carry. */
import type { ErrorCode } from '../errors.ts';
import { newId, requestIdFromUuid } from '../lib/ids.ts';
import type { IpNetwork } from '../lib/ip-address.ts';
import type { Tag } from '../lib/labels.ts';
import type { CachedTokens } from '../lib/meters.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import { clientAddressOf } from './client-address.ts';
import type { TraceContext } from './trace-context.ts';

/** What a handler may ask of the server that calls it. */
export type Host = Readonly<{
  timeout: (request: Request, seconds: number) => void;
  requestIP: (request: Request) => { address: string } | null;
}>;

/** What the log, the metrics and the traces report about the Generation of a request. */
export type GenerationSummary = Readonly<{
  operation: string;
  accountId: string;
  keyId: string;
  model: string;
  provider: string;
  /** Null until it is settled. */
  status: string | null;
  code: string | null;
  inputTokens: number;
  outputTokens: number;
  /** The part of the input that a cache was involved in; null when none was. */
  cached: CachedTokens | null;
  /** Null when nothing was charged. */
  costUsd: number | null;
  lossReason: string | null;
  /** The provider's counts contradict each other. */
  isContradictory: boolean;
  firstTokenMs: number | null;
  /** The first provider was called before the hold was committed. */
  isEarly: boolean;
  attempts: readonly Readonly<{
    index: number;
    provider: string;
    status: string;
    startedAtMs: number;
    completedAtMs: number | null;
    upstreamStatus: number | null;
    errorCode: string | null;
  }>[];
  /** Of the calls that a provider may bill although the customer was not charged for them. */
  unchargedProviders: readonly string[];
}>;

/** What an inference request asks for, as far as it was read. */
export type AskedRequest = {
  readonly api: string;
  /** As the client wrote it, until it is known which model that is. */
  model: string | null;
  attribution: Readonly<{ endUser: string | null; session: string | null; tags: readonly Tag[] }> | null;
};

export class RequestContext {
  /** The UUID inside the request ID, as the database stores it. */
  readonly id = newId();
  readonly requestId = requestIdFromUuid(this.id);
  /** The API key that the request is served for; null while it is unknown. Every response to a key reports its rate. */
  caller: Readonly<{ id: string; accountId: string; requestsPerMinute: number }> | null = null;
  /** The rate as it was when the request was counted; null when it was not. */
  rate: RateLimit | null = null;
  /** The strictest limit of tokens that the request counted towards; null when there is none. */
  tokenRate: RateLimit | null = null;
  /** How long the lookup of the key took. */
  lookupMs = 0;
  /** How much of its body was read. */
  bodyBytes = 0;
  /** Null for anything but an inference request. */
  asked: AskedRequest | null = null;
  /** Its cost was held, or is not known not to be: whatever becomes of it, a Generation says so. */
  mayBeHeld = false;
  generation: Readonly<{ summary: () => GenerationSummary }> | null = null;
  /** Called when the request is refused because of a client error; null when nobody counts that. */
  onRefusal: ((code: ErrorCode) => void) | null = null;
  /** The code of the error in the response. */
  errorCode: string | null = null;
  /** Null unless traces are exported. */
  trace: TraceContext | null = null;
  readonly #request: Request;
  readonly #host: Host;
  readonly #trustedProxies: readonly IpNetwork[];
  #isPatient = false;

  constructor(request: Request, host: Host, trustedProxies: readonly IpNetwork[]) {
    this.#request = request;
    this.#host = host;
    this.#trustedProxies = trustedProxies;
  }

  /** Null once the client is gone. */
  clientAddress(): string | null {
    return clientAddressOf(
      this.#host.requestIP(this.#request)?.address ?? null,
      this.#request.headers.get('x-forwarded-for'),
      this.#trustedProxies,
    );
  }

  get isPatient(): boolean {
    return this.#isPatient;
  }

  /**
   * Lets the connection be idle for as long as it takes. Call it only once the request waits for nothing but a provider
   * or the database: they have their own deadlines, but nothing else ends the wait for a client that sends nothing.
   */
  waitPatiently(): void {
    this.#isPatient = true;
    this.#host.timeout(this.#request, 0);
  }

  waitAsUsual(idleSeconds: number): void {
    this.#host.timeout(this.#request, idleSeconds);
  }
}

export type Handler = (request: Request, context: RequestContext) => Response | Promise<Response>;
