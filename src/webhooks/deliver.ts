/**
 * Sends events to endpoints, on every node. An endpoint is claimed by one node at a time, so what is sent to it at once is
 * bounded, and a node that dies leaves its endpoints to the others when the claim ends. Endpoints that answered quickly have
 * slots of their own, so those that do not, however many, only wait for one another. What a host gets of customers' endpoints
 * is bounded too; the operator knows where the own ones are.
 */
import type { SQL } from 'bun';
import { eventIdFromUuid, presentEvent } from '../events/event.ts';
import { type IpNetwork, networkOfClient } from '../lib/ip-address.ts';
import type { Log } from '../lib/log.ts';
import { logSparingly } from '../lib/log-sparingly.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { readRetryAfter } from '../lib/retry-after.ts';
import {
  type ClaimedEndpoint,
  claimEndpoints,
  type DueDelivery,
  findDue,
  putOffEndpoints,
  recordAttempt,
  releaseEndpoint,
} from './delivery-store.ts';
import { type Posted, post } from './post.ts';
import { mayBeCalled } from './public-address.ts';
import { resolveLocal, resolvePublic } from './resolve.ts';
import { pauseAfterMs } from './retries.ts';
import { signaturesOf } from './signature.ts';
import { decryptSecret } from './stored-secret.ts';
import { boundsOfAddress, boundsOfHost, type Entry, Targets } from './targets.ts';

const everyMs = 500;
const reportEveryMs = 60_000;
const slotsOfPrompt = 64;
const slotsOfOthers = 64;
/** An answer that takes longer is not prompt. */
const promptMs = 2_000;
/** Well below a claim: nothing new is sent to an endpoint after this. */
const maxTurnMs = 30_000;
/** An endpoint that fails gets one delivery at a time, and then this pause. */
const failingPauseMs = 10_000;

/** How often, in a row, others are claimed in place of those that have to wait for their host. */
const maxRounds = 50;
/** Those that wait for their host come back soon, so it is looked more often meanwhile. */
const crowdedEveryMs = 100;

/** How much one endpoint gets in a turn, and how much of that at once. */
const turns = {
  customer: { deliveries: 10, atOnce: 2 },
  operator: { deliveries: 64, atOnce: 8 },
} as const;

export type DeliveryServices = Readonly<{
  sql: SQL;
  nodeId: string;
  /** Decrypts the secrets of endpoints. */
  encryptionKey: Buffer;
  /** Where customers' endpoints may be besides the public internet. */
  networks: readonly IpNetwork[];
  log: Log;
  onDisabled: (endpointId: string, because: 'gone' | 'failing') => void;
}>;

type Sender = DeliveryServices & Readonly<{ hosts: Targets; addresses: Targets }>;

export function keepDelivering(services: DeliveryServices): () => Promise<void> {
  const { sql, nodeId, log } = services;
  const sender = { ...services, hosts: new Targets(boundsOfHost), addresses: new Targets(boundsOfAddress) };
  const stopping = new AbortController();
  const report = logSparingly((fields) => log.warn('deliveries not recorded', fields), reportEveryMs);
  const running = { prompt: new Set<Promise<void>>(), others: new Set<Promise<void>>() };

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
  async function fill(
    turnsInProgress: Set<Promise<void>>,
    isPrompt: boolean,
    slots: number,
  ): Promise<boolean> {
    for (let round = 0; round < maxRounds; round += 1) {
      const free = slots - turnsInProgress.size;
      if (free === 0 || stopping.signal.aborted) return round > 0;
      const late: { id: string; waitMs: number }[] = [];
      for (const endpoint of await claimEndpoints(sql, nodeId, isPrompt, free)) {
        const { waitMs, leave } = enterHost(sender, endpoint);
        if (waitMs > 0) late.push({ id: endpoint.id, waitMs });
        else begin(turnsInProgress, endpoint, leave);
      }
      if (late.length === 0) return round > 0;
      await putOffEndpoints(sql, nodeId, late);
    }
    return true;
  }

  const stopLooking = repeatedly(
    everyMs,
    async () => {
      const endsAt = performance.now() + everyMs;
      while (performance.now() < endsAt) {
        const isCrowded = await fill(running.prompt, true, slotsOfPrompt);
        const areOthersCrowded = await fill(running.others, false, slotsOfOthers);
        if (!isCrowded && !areOthersCrowded) return;
        await Bun.sleep(crowdedEveryMs);
      }
    },
    (fields) => log.warn('deliveries not looked up', fields),
  );
  return async () => {
    stopping.abort();
    await stopLooking();
    await Promise.all([...running.prompt, ...running.others]);
  };
}

function enterHost({ hosts }: Sender, { account_id, url }: ClaimedEndpoint): Entry {
  return account_id === null ? { waitMs: 0, leave: () => undefined } : hosts.enter(new URL(url).hostname);
}

async function takeTurn(sender: Sender, endpoint: ClaimedEndpoint, stop: AbortSignal): Promise<void> {
  const { sql, nodeId } = sender;
  let pauseMs = 0;
  try {
    const { deliveries, atOnce } = turns[endpoint.account_id === null ? 'operator' : 'customer'];
    const due = await findDue(sql, endpoint.id, endpoint.is_failing ? 1 : deliveries);
    const endsAt = performance.now() + maxTurnMs;
    let isOver = false;
    const sendNext = async (): Promise<void> => {
      while (!isOver && !stop.aborted && performance.now() < endsAt) {
        const delivery = due.shift();
        if (delivery === undefined) return;
        const { isDelivered, waitMs } = await deliver(sender, endpoint, delivery, stop);
        pauseMs = Math.max(pauseMs, waitMs);
        isOver ||= !isDelivered;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, sendNext));
  } finally {
    await releaseEndpoint(sql, nodeId, endpoint.id, { failingPauseMs, pauseMs });
  }
}

/** `waitMs` is not 0 when nothing was sent, because its address has too much to do. */
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
  const disabled = await recordAttempt(
    sender.sql,
    endpoint.id,
    delivery.delivery_id,
    result,
    tookMs < promptMs,
  );
  if (disabled !== null) sender.onDisabled(endpoint.id, disabled);
  return { isDelivered, waitMs: 0 };
}

async function send(
  { encryptionKey, networks, addresses }: Sender,
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
      : { mayBeCalled: (address) => mayBeCalled(address, networks), resolve: resolvePublic, enter, stop },
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
