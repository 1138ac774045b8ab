/** The endpoints of events and webhooks. */
import { z } from 'zod';
import { webhookDraftSchema } from '../../admin/webhooks.ts';
import { eventTypes } from '../../events/event.ts';
import { endpointChangeSchema, replaySchema as replayBody } from '../../webhooks/endpoint-body.ts';
import { queryParameter } from '../endpoints/endpoint.ts';
import { nameSchema } from '../json-schema.ts';
import { type AdminEndpoint, deleting, ofAccount, page, patching, posting, reading } from './endpoint.ts';
import * as schemas from './event-schemas.ts';
import { deletedSchema, listSchema } from './schemas.ts';

nameSchema(webhookDraftSchema, 'AdminWebhookDraft');
nameSchema(endpointChangeSchema, 'AdminWebhookChange');
nameSchema(replayBody, 'AdminWebhookReplayRequest');

const webhook = '/webhooks/{webhook}';

export const eventEndpoints: readonly AdminEndpoint[] = [
  reading({
    path: '/events',
    operationId: 'listEvents',
    scope: 'read',
    summary: 'List events',
    description:
      'The oldest first, of the last 30 days. To go on later, send the ID of the last event that you have seen as `after`.',
    query: [
      ...page,
      ofAccount,
      queryParameter('type', 'Only of this type.', { type: 'string', enum: [...eventTypes] }),
      queryParameter('after', 'Begin after the event with this ID.', { type: 'string' }),
      queryParameter('format', 'As CloudEvents 1.0, or in the form in which webhooks get them.', {
        type: 'string',
        enum: ['tollgate', 'cloudevents'],
        default: 'tollgate',
      }),
    ],
    response: listSchema(
      z.union([schemas.eventSchema, schemas.cloudEventSchema]),
      'AdminEventList',
      'A page of events, the oldest first.',
    ),
    errors: ['invalid_cursor', 'event_not_found'],
  }),
  posting({
    path: '/webhooks',
    operationId: 'createWebhook',
    scope: 'accounts',
    summary: 'Create a webhook',
    description:
      'With an `account_id` it gets the events of that account and must be an `https` address on the public internet. ' +
      'With null it is one of the operator and gets all events; that, and to change one, needs the scope `read`, too.',
    body: {
      schema: webhookDraftSchema,
      example: { account_id: null, url: 'http://127.0.0.1:9/events', types: ['credit.added', 'balance.low'] },
    },
    status: 201,
    response: schemas.newWebhookSchema,
    hasTag: true,
    errors: ['too_many_webhooks', 'account_not_found', 'account_suspended'],
  }),
  reading({
    path: '/webhooks',
    operationId: 'listWebhooks',
    scope: 'read',
    summary: 'List webhooks',
    query: [...page, ofAccount],
    response: listSchema(schemas.webhookSchema, 'AdminWebhookList', 'A page of webhooks.'),
    errors: ['invalid_cursor'],
  }),
  reading({
    path: webhook,
    operationId: 'getWebhook',
    scope: 'read',
    summary: 'Read a webhook',
    response: schemas.webhookSchema,
    hasTag: true,
    errors: ['webhook_not_found'],
  }),
  patching({
    path: webhook,
    operationId: 'updateWebhook',
    scope: 'accounts',
    summary: 'Update a webhook',
    description:
      'What is left out stays as it is. Enabling one sends what was still due. What you disable of an account, its owners ' +
      'cannot enable.',
    body: { schema: endpointChangeSchema, example: { description: 'Billing', is_enabled: true } },
    response: schemas.webhookSchema,
    errors: ['webhook_not_found', 'account_suspended'],
  }),
  posting({
    path: `${webhook}/rotate-secret`,
    operationId: 'rotateWebhookSecret',
    scope: 'accounts',
    summary: 'Replace the secret of a webhook',
    description: 'For a day, deliveries are signed with both.',
    response: schemas.newWebhookSchema,
    hasTag: true,
    errors: ['webhook_not_found'],
  }),
  posting({
    path: `${webhook}/test`,
    operationId: 'testWebhook',
    scope: 'accounts',
    summary: 'Send a test to a webhook',
    response: schemas.testSchema,
    errors: ['webhook_not_found', 'webhook_disabled', 'account_suspended', 'too_many_attempts'],
  }),
  reading({
    path: `${webhook}/deliveries`,
    operationId: 'listWebhookDeliveries',
    scope: 'read',
    summary: 'List the deliveries of a webhook',
    query: page,
    response: listSchema(schemas.deliverySchema, 'AdminWebhookDeliveryList', 'A page of deliveries.'),
    errors: ['invalid_cursor', 'webhook_not_found'],
  }),
  posting({
    path: `${webhook}/replay`,
    operationId: 'replayWebhook',
    scope: 'accounts',
    summary: 'Send events to a webhook again',
    description:
      'One delivery by its `delivery_id`, or with `from` and `to` the events of a time, at most 10,000, whether they were ' +
      'sent before or not. They keep their IDs. A time can be replayed once a minute, after the one before is over.',
    body: { schema: replayBody, example: { from: '2026-11-05T00:00:00Z', to: '2026-11-06T00:00:00Z' } },
    response: schemas.replaySchema,
    errors: [
      'webhook_not_found',
      'webhook_disabled',
      'account_suspended',
      'delivery_not_found',
      'too_many_attempts',
    ],
  }),
  deleting({
    path: webhook,
    operationId: 'removeWebhook',
    scope: 'accounts',
    summary: 'Remove a webhook',
    response: deletedSchema('webhook', 'AdminDeletedWebhook'),
    errors: ['webhook_not_found'],
  }),
];
