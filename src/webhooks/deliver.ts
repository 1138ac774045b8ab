/**
 * Sends events to endpoints, on every node. An endpoint is claimed by one node at a time, so what is sent to it at once is
 * bounded, and a node that dies leaves its endpoints to the others when the claim ends. Endpoints that answered quickly have
 * slots of their own, so those that do not, however many, only wait for one another.
 */
import type { SQL } from 'bun';
import { eventIdFromUuid, presentEvent } from '../events/event.ts';
import type { IpNetwork } from '../lib/ip-address.ts';
import type { Log } from '../lib/log.ts';
import { logSparingly } from '../lib/log-sparingly.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { readRetryAfter } from '../lib/retry-after.ts';
import {
  type ClaimedEndpoint,
  claimEndpoints,
  type DueDelivery,
  findDue,
  recordAttempt,
  releaseEndpoint,
} from './delivery-store.ts';
import { pace } from './pace.ts';
import { type Posted, post } from './post.ts';
import { mayBeCalled } from './public-address.ts';
import { pauseAfterMs } from './retries.ts';
import { signaturesOf } from './signature.ts';
import { decryptSecret } from './stored-secret.ts';

const everyMs = 500;
const reportEveryMs = 60_000;
const slotsOfPrompt = 64;
const slotsOfOthers = 64;
/** An answer that takes longer is not prompt. */
const promptMs = 2_000;

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

export function keepDelivering(services: DeliveryServices): () => Promise<void> {
  const { sql, nodeId, log } = services;
  const stopping = new AbortController();
  const report = logSparingly((fields) => log.warn('deliveries not recorded', fields), reportEveryMs);
  const running = { prompt: new Set<Promise<void>>(), others: new Set<Promise<void>>() };

  async function fill(turnsInProgress: Set<Promise<void>>, isPrompt: boolean, slots: number): Promise<void> {
    const free = slots - turnsInProgress.size;
    if (free === 0 || stopping.signal.aborted) return;
    for (const endpoint of await claimEndpoints(sql, nodeId, isPrompt, free)) {
      const turn = takeTurn(services, endpoint, stopping.signal)
        .catch((error: unknown) => {
          if (!stopping.signal.aborted) report({ error });
        })
        .finally(() => turnsInProgress.delete(turn));
      turnsInProgress.add(turn);
    }
  }

  const stopLooking = repeatedly(
    everyMs,
    async () => {
      await fill(running.prompt, true, slotsOfPrompt);
      await fill(running.others, false, slotsOfOthers);
    },
    (fields) => log.warn('deliveries not looked up', fields),
  );
  return async () => {
    stopping.abort();
    await stopLooking();
    await Promise.all([...running.prompt, ...running.others]);
  };
}

async function takeTurn(
  services: DeliveryServices,
  endpoint: ClaimedEndpoint,
  stop: AbortSignal,
): Promise<void> {
  const { sql, nodeId } = services;
  try {
    const { deliveries, atOnce } = turns[endpoint.account_id === null ? 'operator' : 'customer'];
    const due = await findDue(sql, endpoint.id, endpoint.is_failing ? 1 : deliveries);
    const endsAt = performance.now() + pace.maxTurnMs;
    let isFailing = false;
    const sendNext = async (): Promise<void> => {
      while (!isFailing && !stop.aborted && performance.now() < endsAt) {
        const delivery = due.shift();
        if (delivery === undefined) return;
        isFailing = !(await deliver(services, endpoint, delivery, stop));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, sendNext));
  } finally {
    await releaseEndpoint(sql, nodeId, endpoint.id, pace.failingPauseMs);
  }
}

/** Whether it was delivered. */
async function deliver(
  services: DeliveryServices,
  endpoint: ClaimedEndpoint,
  delivery: DueDelivery,
  stop: AbortSignal,
): Promise<boolean> {
  const startedAt = performance.now();
  const posted = await send(services, endpoint, delivery, stop);
  // It is sent again, with the same ID, by whoever claims the endpoint next.
  if (posted.problem === 'stopped') return false;
  const tookMs = Math.round(performance.now() - startedAt);
  const isDelivered = posted.status !== null && posted.status >= 200 && posted.status < 300;
  const retryAfter = readRetryAfter(posted.retryAfter, Date.now());
  const nextInMs = pauseAfterMs(delivery.attempts + 1, retryAfter, Math.random());
  const result = { posted, tookMs, isDelivered, nextInMs };
  const disabled = await recordAttempt(
    services.sql,
    endpoint.id,
    delivery.delivery_id,
    result,
    tookMs < promptMs,
  );
  if (disabled !== null) services.onDisabled(endpoint.id, disabled);
  return isDelivered;
}

async function send(
  { encryptionKey, networks }: DeliveryServices,
  endpoint: ClaimedEndpoint,
  event: DueDelivery,
  stop: AbortSignal,
): Promise<Posted> {
  const stored = [endpoint.secret, endpoint.previous_secret].filter((one) => one !== null);
  const secrets = stored.flatMap((one) => decryptSecret(one, encryptionKey, endpoint.id) ?? []);
  // Signed with nothing, it could be anyone's.
  if (secrets.length === 0) return unsigned;
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
  return await post(
    { url: new URL(endpoint.url), headers, body },
    { mayBeCalled: isOperators ? () => true : (address) => mayBeCalled(address, networks), stop },
  );
}

const unsigned: Posted = {
  status: null,
  problem: 'secret_unreadable',
  retryAfter: null,
  requestHead: '',
  responseHead: null,
};
