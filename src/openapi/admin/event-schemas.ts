/** Events and webhooks, as the admin API answers with them. */
import { z } from 'zod';
import { eventTypes } from '../../events/event.ts';
import { count, timestamp, uuid } from '../schemas/fields.ts';

const eventId = z.string().regex(/^evt_[0-9a-f]{32}$/);
const type = z.enum(eventTypes as [string, ...string[]]).describe('More may be added later.');
const data = z.record(z.string(), z.unknown()).describe('What it is depends on the type and its version.');

export const eventSchema = z
  .strictObject({
    object: z.literal('event'),
    id: eventId.describe('The same in every delivery of it: `webhook-id`.'),
    type,
    version: count.describe('Of the form of `data`. Fields may be added within a version.'),
    timestamp,
    account_id: uuid.nullable().describe('Null for what concerns the operator alone.'),
    external_id: z.string().nullable().describe('The ID of the account in your own system.'),
    sequence: count.describe('Counts the events of the account, or of the operator, without a gap.'),
    data,
  })
  .meta({ id: 'AdminEvent', description: 'Something that happened to money or access.' });

export const cloudEventSchema = z
  .strictObject({
    specversion: z.literal('1.0'),
    id: eventId,
    source: z.string(),
    type,
    subject: z.string().optional().describe('The `external_id` of the account, or without one its ID.'),
    time: timestamp,
    datacontenttype: z.literal('application/json'),
    dataversion: count,
    sequence: z.string().describe('With leading zeros, so that it sorts as text.'),
    data,
  })
  .meta({ id: 'AdminCloudEvent', description: 'The same as a CloudEvent 1.0.' });

const webhookFields = {
  object: z.literal('webhook'),
  id: uuid,
  account_id: uuid.nullable().describe('Gets the events of this account; null for one that gets all.'),
  url: z.string(),
  description: z.string(),
  types: z.array(type).nullable().describe('The types of events that it gets; null for all.'),
  is_enabled: z.boolean(),
  disabled_because: z
    .enum(['owner', 'operator', 'gone', 'failing'])
    .nullable()
    .describe(
      '`owner`: whoever it belongs to; `operator`: only the operator can enable it; `gone`: it answered 410; `failing`: nothing reached it for three days.',
    ),
  failing_since: timestamp.nullable().describe('The first failure after its last success.'),
  previous_secret_until: timestamp.nullable().describe('Until then the secret before this one signs, too.'),
  created_at: timestamp,
};
export const webhookSchema = z
  .strictObject(webhookFields)
  .meta({ id: 'AdminWebhook', description: 'Where events are sent. Never with its secret.' });
export const newWebhookSchema = z
  .strictObject({
    ...webhookFields,
    secret: z.string().describe('Verifies signatures. It is in this response only.'),
  })
  .meta({ id: 'NewAdminWebhook', description: 'A webhook with its secret.' });

export const deliverySchema = z
  .strictObject({
    object: z.literal('webhook_delivery'),
    id: uuid,
    event_id: eventId,
    type,
    state: z.enum(['pending', 'delivered', 'failed']),
    attempts: count,
    status: count.nullable().describe('Of the last response; null without one.'),
    problem: z
      .enum(['unreachable', 'timeout', 'tls', 'no_response', 'secret_unreadable'])
      .nullable()
      .describe('Why there was no response.'),
    took_ms: count.nullable(),
    request_head: z.string().nullable().describe('Without the signature.'),
    response_head: z.string().nullable(),
    created_at: timestamp,
    attempted_at: timestamp.nullable(),
    next_attempt_at: timestamp.nullable(),
  })
  .meta({ id: 'AdminWebhookDelivery', description: 'An event on its way to a webhook.' });

export const testSchema = z
  .strictObject({ object: z.literal('webhook_test'), event_id: eventId })
  .meta({ id: 'AdminWebhookTest', description: 'The event that is sent as a test.' });

export const replaySchema = z
  .strictObject({ object: z.literal('webhook_replay'), deliveries: count })
  .meta({ id: 'AdminWebhookReplay', description: 'How many deliveries are sent again.' });
