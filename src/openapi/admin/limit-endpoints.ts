/** The limits of accounts, keys and end users. */
import { limitChangeSchema, limitDraftSchema } from '../../limits/limit-body.ts';
import { queryParameter } from '../endpoints/endpoint.ts';
import { nameSchema } from '../json-schema.ts';
import { type AdminEndpoint, deleting, page, patching, posting, reading } from './endpoint.ts';
import * as schemas from './schemas.ts';

nameSchema(limitDraftSchema, 'AdminLimitDraft');
nameSchema(limitChangeSchema, 'AdminLimitChange');

export const limitEndpoints: readonly AdminEndpoint[] = [
  posting({
    path: '/accounts/{account}/limits',
    operationId: 'createLimit',
    scope: 'accounts',
    summary: 'Set a limit',
    description:
      'For the account, one of its keys, one end user, or each end user. It applies at once, on all nodes. `amount` is in USD, ' +
      'requests or tokens, as the `kind` says. A key has settings of its own for what it spends in a month, its requests per ' +
      'minute and its concurrent requests.',
    body: {
      schema: limitDraftSchema,
      example: { scope: 'account', kind: 'spend_per_day', amount: '10' },
    },
    status: 201,
    response: schemas.limitSchema,
    hasTag: true,
    errors: ['key_not_found', 'limit_exists', 'too_many_limits'],
  }),
  reading({
    path: '/accounts/{account}/limits',
    operationId: 'listLimits',
    scope: 'read',
    summary: 'List limits',
    query: [
      ...page,
      queryParameter('key_id', 'Only of the key with this ID.', { type: 'string', format: 'uuid' }),
      queryParameter('end_user', 'Only of this end user.', { type: 'string' }),
    ],
    response: schemas.listSchema(schemas.limitSchema, 'AdminLimitList', 'A page of limits.'),
    errors: ['invalid_cursor'],
  }),
  reading({
    path: '/limits/{id}',
    operationId: 'getLimit',
    scope: 'read',
    summary: 'Read a limit',
    response: schemas.limitSchema,
    hasTag: true,
    errors: ['limit_not_found'],
  }),
  patching({
    path: '/limits/{id}',
    operationId: 'updateLimit',
    scope: 'accounts',
    summary: 'Change a limit',
    description:
      'What is left out stays as it is. `increase` is added to the amount for a while; null ends it.',
    body: { schema: limitChangeSchema, example: { amount: '20' } },
    response: schemas.limitSchema,
    errors: ['limit_not_found'],
  }),
  deleting({
    path: '/limits/{id}',
    operationId: 'deleteLimit',
    scope: 'accounts',
    summary: 'Remove a limit, with `If-Match` only if it has not been changed',
    response: schemas.deletedSchema('limit', 'DeletedAdminLimit'),
    errors: ['limit_not_found', 'precondition_failed'],
  }),
];
