/**
 * What must be true of events: all that happened to money and access is told once, nothing else is, and each reaches every
 * webhook that it is for, always the same and with the same ID.
 */
import type { ReceivedDelivery } from '../world/webhook-receiver.ts';
import type { EventLog, RecordedEndpoint, RecordedEvent } from './event-log.ts';
import type { Evidence } from './evidence.ts';
import { checkEach, type Truth } from './truth.ts';

export function judgeEvents({ events: log }: Pick<Evidence, 'events'>): Truth[] {
  return [...judgeTelling(log), ...judgeNumbers(log), ...judgeDeliveries(log)];
}

function judgeTelling({ events, happened }: EventLog): Truth[] {
  const told = Map.groupBy(events, ({ about }) => about);
  const known = new Set(happened.map(({ about }) => about));
  return [
    checkEach('what happened to money and access is told by one event', happened, ({ about, mayBeTold }) => {
      const times = told.get(about)?.length ?? 0;
      return times === 1 || (times === 0 && mayBeTold === true) ? null : `${about}: ${times} events`;
    }),
    checkEach(
      'no event tells of what did not happen',
      events.filter(({ about }) => about !== null),
      ({ about, id }) => (known.has(about ?? '') ? null : `${id}: ${about}`),
    ),
  ];
}

function judgeNumbers({ events }: EventLog): Truth[] {
  const owners = [...Map.groupBy(events, ({ accountId }) => accountId)];
  return [
    checkEach('the events of each account are numbered without a gap', owners, ([owner, own]) => {
      const numbers = new Set(own.map(({ sequence }) => sequence));
      const isWhole = own.every((_, index) => numbers.has(index + 1));
      return isWhole && numbers.size === own.length
        ? null
        : `${owner ?? 'the operator'}: ${own.length} events`;
    }),
  ];
}

function judgeDeliveries({ events, endpoints, deliveries }: EventLog): Truth[] {
  const byId = new Map(events.map((event) => [event.id, event]));
  const owners = new Map(endpoints.map(({ name, accountId }) => [name, accountId]));
  const taken = deliveries.filter(({ reply }) => reply === 'done');
  const received = new Set(taken.map(({ endpoint, webhookId }) => `${endpoint} ${webhookId}`));
  const due = endpoints.flatMap((endpoint) =>
    events.filter((event) => isFor(endpoint, event)).map((event) => ({ endpoint, event })),
  );
  return [
    checkEach('every event was received by each webhook that it is for', due, ({ endpoint, event }) =>
      received.has(`${endpoint.name} ${event.id}`)
        ? null
        : `${endpoint.name}${endpoint.isDisabled ? ', disabled' : ''}: ${event.type} ${event.id}`,
    ),
    checkEach('no webhook received what was not published, or was not for it', deliveries, (delivery) => {
      const event = byId.get(delivery.webhookId);
      const owner = owners.get(delivery.endpoint);
      const isRight =
        event !== undefined &&
        event.type === delivery.type &&
        event.sequence === delivery.sequence &&
        event.accountId === delivery.accountId &&
        (owner === null || owner === event.accountId);
      return isRight ? null : describe(delivery);
    }),
    checkEach(
      'an event always came with the same ID and the same body',
      [...Map.groupBy(deliveries, numberOf)],
      ([number, same]) => {
        const isSame = same.every(
          ({ webhookId, eventId, digest }) =>
            webhookId === eventId && webhookId === same[0]?.webhookId && digest === same[0].digest,
        );
        return isSame ? null : `${number}: ${same.map(({ webhookId }) => webhookId).join(', ')}`;
      },
    ),
    checkEach('every delivery was signed with the secret of its webhook', deliveries, (delivery) =>
      delivery.isSigned ? null : describe(delivery),
    ),
  ];
}

/** An event from before the endpoint may have been published before it, too. */
function isFor({ accountId, createdAtMs }: RecordedEndpoint, event: RecordedEvent): boolean {
  return event.atMs > createdAtMs && (accountId === null || accountId === event.accountId);
}

/** Which event it is, whatever its ID. */
function numberOf({ endpoint, accountId, sequence }: ReceivedDelivery): string {
  return `${endpoint}: ${sequence} of ${accountId ?? 'the operator'}`;
}

function describe(delivery: ReceivedDelivery): string {
  return `${numberOf(delivery)}, ${delivery.type} ${delivery.webhookId}`;
}
