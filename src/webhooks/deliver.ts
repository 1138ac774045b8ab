/**
 * Sends events to endpoints, on every node. An endpoint is claimed by one node at a time, so what is sent to it at once is
 * bounded, and a node that dies leaves its endpoints to the others when the claim ends. Endpoints that answered quickly, those
 * that did not, those that fail, and the operator's have slots of their own, so however many there are, they only wait for one
 * another, and take turns. What a host gets of customers' endpoints is bounded too; the operator knows where the own ones are.
 */
import type { SQL } from 'bun';
import { eventIdFromUuid, presentEvent } from '../events/event.ts';
import { BoundedQueue } from '../lib/bounded-queue.ts';
import { type IpNetwork, networkOfClient } from '../lib/ip-address.ts';
import type { Log } from '../lib/log.ts';
import { logSparingly } from '../lib/log-sparingly.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { readRetryAfter } from '../lib/retry-after.ts';
import {
  type ClaimedEndpoint,
  claimEndpoints,
  type DueDelivery,
  type EndpointGroup,
  findDue,
  hasDueEndpoints,
  putOffEndpoints,
  recordAttempt,
  releaseEndpoint,
} from './delivery-store.ts';
import { pace } from './pace.ts';
import { type Posted, post } from './post.ts';
import { mayBeCalled } from './public-address.ts';
import { addReplayed } from './replay.ts';
import { type Resolve, resolveLocal, resolvePublic } from './resolve.ts';
import { maxPauseMs, pauseAfterMs } from './retries.ts';
import { signaturesOf } from './signature.ts';
import { decryptSecret } from './stored-secret.ts';
import { boundsOfAddress, boundsOfHost, type Entry, Targets } from './targets.ts';

const everyMs = 500;
const reportEveryMs = 60_000;
const groups: readonly (EndpointGroup & Readonly<{ slots: number }>)[] = [
  { standing: 'prompt', isOperators: true, slots: 8 },
  { standing: 'prompt', isOperators: false, slots: 56 },
  { standing: 'unproven', isOperators: true, slots: 8 },
  { standing: 'unproven', isOperators: false, slots: 32 },
  { standing: 'failing', isOperators: true, slots: 8 },
  { standing: 'failing', isOperators: false, slots: 32 },
];
/** Of the connections to the database that everyone shares. */
const maxDatabaseTasks = 3;
/** An answer that takes longer is not prompt. */
const promptMs = 2_000;

/** How often, in a row, others are claimed in place of those that have to wait for their host. */
const maxRounds = 50;
/** Those that wait for their host come back soon, so it is looked more often meanwhile. */
const crowdedEveryMs = 100;

/** How much a prompt endpoint gets in a turn, how much of that at once, and what comes after a turn. Others get one delivery. */
const turns = {
  customer: { deliveries: 10, atOnce: 2, pauseMs: 1_000 },
  operator: { deliveries: 64, atOnce: 8, pauseMs: 0 },
} as const;

export type DeliveryServices = Readonly<{
  sql: SQL;
  nodeId: string;
  /** Decrypts the secrets of endpoints. */
  encryptionKey: Buffer;
  /** Where customers' endpoints may be besides the public internet. */
  networks: readonly IpNetwork[];
  /** Finds the addresses of customers' endpoints, instead of name servers. */
  resolve?: Resolve;
  log: Log;
}>;

type Sender = DeliveryServices &
  Readonly<{
    hosts: Targets;
    addresses: Targets;
    /** Those of one account, or of the operator, wait for their own before they wait for others. */
    inDatabase: <Result>(
      accountId: string | null,
      work: (sql: SQL, nodeId: string) => Promise<Result>,
    ) => Promise<Result>;
  }>;

export function keepDelivering(services: DeliveryServices): () => Promise<void> {
  const { log } = services;
  const sender = senderOf(services);
  const stopping = new AbortController();
  const report = logSparingly((fields) => log.warn('deliveries not recorded', fields), reportEveryMs);
  const running = groups.map((group) => ({ group, turnsInProgress: new Set<Promise<void>>() }));

  function begin(turnsInProgress: Set<Promise<void>>, endpoint: ClaimedEndpoint, leave: () => void): void {
    const turn = takeTurn(sender, endpoint, stopping.signal)
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) report({ error });
      })
      .finally(() => {
        leave();
        turnsInProgress.delete(turn);
      });
    turnsInProgress.add(turn);
  }

  /** Whether some have to wait for their host. */
  async function fill({ group, turnsInProgress }: (typeof running)[number]): Promise<boolean> {
    for (let round = 0; round < maxRounds; round += 1) {
      const free = group.slots - turnsInProgress.size;
      if (free === 0 || stopping.signal.aborted) return round > 0;
      const late: { id: string; waitMs: number }[] = [];
      const claimed = await sender.inDatabase(null, (sql, nodeId) =>
        claimEndpoints(sql, nodeId, group, free),
      );
      for (const endpoint of claimed) {
        const { waitMs, leave } = enterHost(sender, endpoint);
        if (waitMs > 0) late.push({ id: endpoint.id, waitMs });
        else begin(turnsInProgress, endpoint, leave);
      }
      if (late.length === 0) return round > 0;
      await sender.inDatabase(null, (sql, nodeId) => putOffEndpoints(sql, nodeId, late));
    }
    return true;
  }

  const stopLooking = repeatedly(
    everyMs,
    async () => {
      if (!(await sender.inDatabase(null, hasDueEndpoints))) return;
      const endsAt = performance.now() + everyMs;
      while (performance.now() < endsAt) {
        let isCrowded = false;
        for (const one of running) isCrowded = (await fill(one)) || isCrowded;
        if (!isCrowded) return;
        await Bun.sleep(crowdedEveryMs);
      }
    },
    (fields) => log.warn('deliveries not looked up', fields),
  );
  return async () => {
    stopping.abort();
    await stopLooking();
    await Promise.all(running.flatMap(({ turnsInProgress }) => [...turnsInProgress]));
  };
}

function senderOf(services: DeliveryServices): Sender {
  const tasks = new BoundedQueue({ maxRunning: maxDatabaseTasks });
  return {
    ...services,
    hosts: new Targets(boundsOfHost),
    addresses: new Targets(boundsOfAddress),
    inDatabase: (accountId, work) =>
      tasks.run({ origin: accountId ?? '' }, () => work(services.sql, services.nodeId)),
  };
}

function enterHost({ hosts }: Sender, { account_id, url }: ClaimedEndpoint): Entry {
  return account_id === null ? { waitMs: 0, leave: () => undefined } : hosts.enter(new URL(url).hostname);
}

async function takeTurn(sender: Sender, endpoint: ClaimedEndpoint, stop: AbortSignal): Promise<void> {
  const turn = turns[endpoint.account_id === null ? 'operator' : 'customer'];
  let pauseMs: number = turn.pauseMs;
  try {
    const due = await findTurn(sender, endpoint, endpoint.is_prompt ? turn.deliveries : 1);
    const endsAt = performance.now() + pace.maxTurnMs;
    let isOver = false;
    const sendNext = async (): Promise<void> => {
      while (!isOver && !stop.aborted && performance.now() < endsAt) {
        const delivery = due.shift();
        if (delivery === undefined) return;
        const { isDelivered, waitMs } = await deliver(sender, endpoint, delivery, stop).catch((error) => {
          isOver = true;
          throw error;
        });
        pauseMs = Math.max(pauseMs, waitMs);
        isOver ||= !isDelivered;
      }
    };
    await allOver(Array.from({ length: turn.atOnce }, sendNext));
  } finally {
    await sender.inDatabase(endpoint.account_id, (sql, nodeId) =>
      releaseEndpoint(sql, nodeId, endpoint.id, { failingPauseMs: pace.failingPauseMs, pauseMs }),
    );
  }
}

/** What is to be replayed comes after what is due anyway. */
async function findTurn(
  { inDatabase }: Sender,
  { id, account_id, is_replaying }: ClaimedEndpoint,
  count: number,
): Promise<DueDelivery[]> {
  const find = () => inDatabase(account_id, (sql) => findDue(sql, id, count));
  const due = await find();
  if (due.length === count || !is_replaying) return due;
  await inDatabase(account_id, (sql) => addReplayed(sql, id));
  return await find();
}

/** Unlike Promise.all, it waits for all of them when one fails. */
async function allOver(work: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  const failed = results.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** `waitMs` is not 0 when its address has too much to do, so that nothing was sent, or when the endpoint asked for a pause. */
type Delivered = Readonly<{ isDelivered: boolean; waitMs: number }>;

async function deliver(
  sender: Sender,
  endpoint: ClaimedEndpoint,
  delivery: DueDelivery,
  stop: AbortSignal,
): Promise<Delivered> {
  const startedAt = performance.now();
  const { posted, waitMs } = await send(sender, endpoint, delivery, stop);
  // It is sent again, with the same ID, by whoever claims the endpoint next.
  if (posted.problem === 'stopped' || posted.problem === 'busy') return { isDelivered: false, waitMs };
  const tookMs = Math.round(performance.now() - startedAt);
  const isDelivered = posted.status !== null && posted.status >= 200 && posted.status < 300;
  const retryAfter = readRetryAfter(posted.retryAfter, Date.now());
  const nextInMs = pauseAfterMs(delivery.attempts + 1, retryAfter, Math.random());
  const result = { posted, tookMs, isDelivered, nextInMs };
  await sender.inDatabase(endpoint.account_id, (sql) =>
    recordAttempt(sql, endpoint.id, delivery.delivery_id, result, tookMs < promptMs),
  );
  return { isDelivered, waitMs: asksForPause(posted) ? restOf(retryAfter) : 0 };
}

/** It is too busy for anything, and not just for this delivery. */
function asksForPause({ status }: Posted): boolean {
  return status === 429 || status === 503;
}

function restOf(retryAfterSeconds: number | null): number {
  return Math.min((retryAfterSeconds ?? 0) * 1000, maxPauseMs);
}

async function send(
  { encryptionKey, networks, resolve = resolvePublic, addresses }: Sender,
  endpoint: ClaimedEndpoint,
  event: DueDelivery,
  stop: AbortSignal,
): Promise<Readonly<{ posted: Posted; waitMs: number }>> {
  const stored = [endpoint.secret, endpoint.previous_secret].filter((one) => one !== null);
  const secrets = stored.flatMap((one) => decryptSecret(one, encryptionKey, endpoint.id) ?? []);
  // Signed with nothing, it could be anyone's.
  if (secrets.length === 0) return { posted: unsigned, waitMs: 0 };
  const id = eventIdFromUuid(event.id);
  const timestamp = Math.floor(Date.now() / 1000);
  const isOperators = endpoint.account_id === null;
  const shown = presentEvent(event);
  const body = JSON.stringify(isOperators ? { ...shown, external_id: event.external_id } : shown);
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': signaturesOf(secrets, id, timestamp, body),
  };
  let waitMs = 0;
  const enter = (address: string) => {
    const entry = addresses.enter(networkOfClient(address));
    waitMs = entry.waitMs;
    return waitMs > 0 ? null : entry.leave;
  };
  const posted = await post(
    { url: new URL(endpoint.url), headers, body },
    isOperators
      ? { mayBeCalled: () => true, resolve: resolveLocal, stop }
      : { mayBeCalled: (address) => mayBeCalled(address, networks), resolve, enter, stop },
  );
  return { posted, waitMs };
}

const unsigned: Posted = {
  status: null,
  problem: 'secret_unreadable',
  retryAfter: null,
  requestHead: '',
  responseHead: null,
};
