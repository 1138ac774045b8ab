/** Grants and allowances. */
import { allowanceDraftSchema, voidSchema } from '../../grants/grant-body.ts';
import { queryParameter } from '../endpoints/endpoint.ts';
import { nameSchema } from '../json-schema.ts';
import { type AdminEndpoint, page, posting, reading } from './endpoint.ts';
import * as schemas from './schemas.ts';

nameSchema(voidSchema, 'AdminGrantVoid');
nameSchema(allowanceDraftSchema, 'AdminAllowanceDraft');

const grants = '/accounts/{account}/grants';
const allowances = '/accounts/{account}/allowances';

export const grantEndpoints: readonly AdminEndpoint[] = [
  reading({
    path: grants,
    operationId: 'listGrants',
    scope: 'read',
    summary: 'List grants',
    description:
      'Of an account that has had a grant: every credit since the first, and the balance from before. Other accounts have none.',
    query: [
      ...page,
      queryParameter('active', 'Only those that can still be spent, in the order of spending.', {
        type: 'string',
        enum: ['true', 'false'],
      }),
    ],
    response: schemas.listSchema(schemas.grantSchema, 'AdminGrantList', 'A page of grants.'),
    errors: ['invalid_cursor'],
  }),
  reading({
    path: `${grants}/{grant}`,
    operationId: 'getGrant',
    scope: 'read',
    summary: 'Read a grant',
    response: schemas.grantSchema,
    errors: ['grant_not_found'],
  }),
  posting({
    path: `${grants}/{grant}/void`,
    operationId: 'voidGrant',
    scope: 'money',
    summary: 'Void a grant',
    description:
      'What is left of it leaves with a ledger entry of its own; what is held for requests, when they have ended. Voiding it ' +
      'again changes nothing.',
    body: { schema: voidSchema, example: { reason: 'Given by mistake' } },
    response: schemas.grantSchema,
    errors: ['grant_not_found', 'nothing_left'],
  }),
  posting({
    path: allowances,
    operationId: 'createAllowance',
    scope: 'money',
    summary: 'Create an allowance',
    description:
      'Its first grant is given at once, in full. Each lasts until the next day, week or month begins (UTC). It needs an ' +
      '`Idempotency-Key`, so that it is created once.',
    body: { schema: allowanceDraftSchema, example: { amount: '5', every: 'month', note: 'Plan gold' } },
    status: 201,
    response: schemas.allowanceSchema,
    errors: ['too_many_allowances'],
  }),
  reading({
    path: allowances,
    operationId: 'listAllowances',
    scope: 'read',
    summary: 'List allowances',
    response: schemas.listSchema(
      schemas.allowanceSchema,
      'AdminAllowanceList',
      'Those that have not ended come first; at most 100.',
    ),
  }),
  reading({
    path: `${allowances}/{allowance}`,
    operationId: 'getAllowance',
    scope: 'read',
    summary: 'Read an allowance',
    response: schemas.allowanceSchema,
    errors: ['allowance_not_found'],
  }),
  posting({
    path: `${allowances}/{allowance}/end`,
    operationId: 'endAllowance',
    scope: 'money',
    summary: 'End an allowance',
    description:
      'It is not given again. What was given stays until its own end, unless that grant is voided. Ending it again changes nothing.',
    response: schemas.allowanceSchema,
    errors: ['allowance_not_found'],
  }),
];
