/**
 * Keeps what was refused after its key was known, for whoever asks why. Nobody waits for it: a node collects its refusals in
 * memory and stores them about once a second, one batch at a time. Every refusal is counted, in a flood less finely. Of a flood
 * only some are stored in full, for each key and for each account. A node that crashes loses those of its last second; nothing was charged for them.
 */
import type { SQL } from 'bun';
import { type ApiError, errorTable } from '../errors.ts';
import type { AskedRequest, RequestContext } from '../http/context.ts';
import { isIntegrityError } from '../ledger/database-error.ts';
import { timeOfId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { logSparingly } from '../lib/log-sparingly.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { minuteMs } from '../lib/time-units.ts';
import { within } from '../lib/within.ts';
import { Allowances } from './allowances.ts';
import { CountDetail } from './count-detail.ts';
import { type NewRefusal, type RefusalCount, storeRefusals } from './refusal-store.ts';

const everyMs = 1_000;
const patienceMs = 5_000;
const closingMs = 3_000;
/** A statement that is late still has its connection. A lost one is worth a second try, but not the whole pool. */
const maxUnderWay = 2;

/** What waits to be stored takes a few megabytes at most, whatever clients send, even while the database is away. */
const maxRows = 2_000;
const maxCounts = 20_000;
/** One statement stays short: the tables are not this node's alone. */
const maxRowsAtOnce = 500;
const maxCountsAtOnce = 2_000;
const maxCharacters = 200;

type Batch = Readonly<{ number: number; rows: readonly NewRefusal[]; counts: readonly RefusalCount[] }>;

export type RecorderServices = Readonly<{
  sql: SQL;
  nodeId: string;
  /** Whether the catalogue has a model of this name. Others are not counted by name, because there is no end of them. */
  isModel: (name: string) => boolean;
  log: Log;
}>;

export class RefusalRecorder {
  readonly #services: RecorderServices;
  readonly #allowances = new Allowances();
  readonly #detail = new CountDetail();
  #rows: NewRefusal[] = [];
  /** By everything but the number. A map keeps its order, so the oldest are stored first. */
  readonly #counts = new Map<string, RefusalCount>();
  /** It is sent again, with the same number, until it is known to be stored. */
  #batch: Batch | null = null;
  #number = 0;
  /** Statements whose outcome is not known, though perhaps nobody waits for it any more. */
  #underWay = 0;
  readonly #stop: () => Promise<void>;
  readonly #logUncounted: () => void;

  constructor(services: RecorderServices) {
    this.#services = services;
    const { log } = services;
    const logUncounted = logSparingly((fields) => log.warn('a refused request was not counted', fields));
    this.#logUncounted = () => logUncounted({});
    this.#stop = repeatedly(
      everyMs,
      () => this.#flush(),
      (fields) => log.warn('refusals not stored yet', fields),
    );
  }

  /** Does nothing for a request that was not refused, or whose key is not known. */
  record(context: RequestContext, error: ApiError): void {
    const { id, asked, caller, mayBeHeld } = context;
    if (asked === null || caller === null || mayBeHeld) return;
    const { status } = errorTable[error.code];
    if (!isRefused(status)) return;
    const { accountId } = caller;
    this.#count(timeOfId(id).getTime(), accountId, caller.id, asked.model, error.code);
    const nowMs = performance.now();
    if (this.#rows.length >= maxRows || !this.#allowances.take(caller.id, accountId, nowMs)) return;
    const labels = labelsOf(asked.attribution);
    this.#rows.push({
      id,
      account_id: accountId,
      key_id: caller.id,
      api: asked.api,
      model: cut(asked.model),
      code: error.code,
      http_status: status,
      param: cut(error.param ?? null),
      short_of: error.shortage?.of ?? null,
      needed: error.shortage?.needed ?? null,
      available: error.shortage?.available ?? null,
      fitting_max_tokens: error.shortage?.fittingMaxTokens ?? null,
      retry_after_seconds: error.retryAfterSeconds ?? null,
      labels: labels.length > 0 && this.#allowances.takeLabels(accountId, nowMs) ? labels : [],
    });
  }

  /** Stores what is left, if the database takes it soon. */
  async close(): Promise<void> {
    await within(closingMs, this.#storeAll()).catch((error: unknown) =>
      this.#services.log.warn('the last refusals were not stored', { error }),
    );
  }

  async #storeAll(): Promise<void> {
    await this.#stop();
    while (this.#batch !== null || this.#rows.length > 0 || this.#counts.size > 0) await this.#flush();
  }

  #count(timeMs: number, accountId: string, callerId: string, asked: string | null, code: string): void {
    const known = asked !== null && this.#services.isModel(asked) ? asked : '';
    const { keyId, model } = this.#detail.of(timeMs, accountId, callerId, known, code);
    const startMs = timeMs - (timeMs % minuteMs);
    const name = [startMs, accountId, keyId, code, model].join(' ');
    const found = this.#counts.get(name);
    if (found !== undefined) {
      found.count += 1;
      return;
    }
    if (this.#counts.size >= maxCounts) {
      this.#logUncounted();
      return;
    }
    const at = new Date(startMs).toISOString();
    this.#counts.set(name, { at, account_id: accountId, key_id: keyId, model, error_code: code, count: 1 });
  }

  async #flush(): Promise<void> {
    this.#batch ??= this.#nextBatch();
    if (this.#batch === null) return;
    if (this.#underWay >= maxUnderWay)
      throw new Error('Statements that were sent before have no outcome yet.');
    const { sql, nodeId, log } = this.#services;
    const { number, rows, counts } = this.#batch;
    try {
      this.#underWay += 1;
      const stored = storeRefusals(sql, nodeId, number, rows, counts).finally(() => {
        this.#underWay -= 1;
      });
      await within(patienceMs, stored);
      this.#batch = null;
    } catch (error) {
      // The database will never accept one of them. That they were counted matters more.
      if (!isIntegrityError(error) || rows.length === 0) throw error;
      log.error('refusals not stored', { error, count: rows.length });
      this.#batch = { number, rows: [], counts };
    }
  }

  #nextBatch(): Batch | null {
    if (this.#rows.length === 0 && this.#counts.size === 0) return null;
    const rows = this.#rows.splice(0, maxRowsAtOnce);
    const counts: RefusalCount[] = [];
    for (const [name, count] of this.#counts) {
      if (counts.length >= maxCountsAtOnce) break;
      counts.push(count);
      this.#counts.delete(name);
    }
    this.#number += 1;
    return { number: this.#number, rows, counts };
  }
}

/** By the gateway, before it called anyone. What fails inside of it is no refusal, and an invalid key belongs to nobody. */
function isRefused(status: number | null): status is number {
  return status !== null && status !== 401 && (status < 500 || status === 503);
}

/** PostgreSQL stores neither a NUL nor half a character. */
function cut(text: string | null): string | null {
  return text?.slice(0, maxCharacters).toWellFormed().replaceAll('\0', '\ufffd') ?? null;
}

function labelsOf(attribution: AskedRequest['attribution']): NewRefusal['labels'] {
  if (attribution === null) return [];
  const { endUser, session, tags } = attribution;
  const labels: [kind: string, label: string][] = tags.map((tag) => ['tag', tag.join('=')]);
  if (endUser !== null) labels.push(['end_user', endUser]);
  if (session !== null) labels.push(['session', session]);
  return labels;
}
