/** Events as programs know them, in a list and as what is sent to a webhook. */

/** What happens to an account. Its owners and the operator can get them. Of a webhook of the operator, the operator alone. */
export const accountEventTypes = [
  'credit.added',
  'balance.corrected',
  'charge.refunded',
  'grant.expiring',
  'grant.expired',
  'grant.voided',
  'payment.succeeded',
  'payment.failed',
  'payment.refunded',
  'payment.disputed',
  'usage.charged',
  'balance.low',
  'budget.reached',
  'key.created',
  'key.used_up',
  'key.expired',
  'key.revoked',
  'account.suspended',
  'account.resumed',
  'webhook.disabled',
] as const;

/** What concerns the operator alone. */
export const operatorEventTypes = [
  'payment.warned',
  'circuit.opened',
  'circuit.closed',
  'provider_key.refused',
  'audit.failed',
  'dead_letter.added',
  'catalogue.rejected',
  'node.lost',
] as const;

/** What an endpoint can be told apart from these: that someone asked for a test. */
export const testEventType = 'webhook.test';

export const eventTypes: readonly string[] = [...accountEventTypes, ...operatorEventTypes, testEventType];

/** An event that was published. */
export type StoredEvent = Readonly<{
  id: string;
  account_id: string | null;
  /** The ID of the account in the operator's own system. Owners do not see it. */
  external_id: string | null;
  type: string;
  version: number;
  created_at: Date;
  data: Readonly<Record<string, unknown>>;
  sequence: bigint;
}>;

const idPattern = /^evt_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** `evt_` and the 32 hexadecimal digits of its UUID. The same in lists, in every delivery and in all of its retries. */
export function eventIdFromUuid(uuid: string): string {
  return `evt_${uuid.replaceAll('-', '')}`;
}

/** Null when the text is no ID of an event. */
export function uuidFromEventId(text: string): string | null {
  return idPattern.exec(text)?.slice(1).join('-') ?? null;
}

/** Without what only the operator knows of the account. */
export function presentEvent(event: StoredEvent) {
  return {
    id: eventIdFromUuid(event.id),
    type: event.type,
    version: event.version,
    timestamp: event.created_at.toISOString(),
    account_id: event.account_id,
    sequence: Number(event.sequence),
    data: event.data,
  };
}

/** So that sequence numbers sort as texts, too. */
const sequenceDigits = 16;

/** CloudEvents 1.0. `source` is the address of the gateway. */
export function presentCloudEvent(event: StoredEvent, source: string) {
  const subject = event.external_id ?? event.account_id;
  return {
    specversion: '1.0',
    id: eventIdFromUuid(event.id),
    source,
    type: event.type,
    ...(subject === null ? {} : { subject }),
    time: event.created_at.toISOString(),
    datacontenttype: 'application/json',
    dataversion: event.version,
    sequence: `${event.sequence}`.padStart(sequenceDigits, '0'),
    data: event.data,
  };
}
