/** Every endpoint of the admin API, in the order of a customer's life. */
import { accountChangeSchema, accountDraftSchema } from '../../admin/accounts.ts';
import { catalogueCheckSchema } from '../../admin/gateway.ts';
import { invitationDraftSchema, memberChangeSchema } from '../../admin/members.ts';
import {
  correctionSchema as correctionBody,
  creditSchema as creditBody,
  refundSchema as refundBody,
} from '../../admin/movements.ts';
import { keyChangeSchema, keyDraftSchema, replacementSchema } from '../../keys/key-body.ts';
import { queryParameter } from '../endpoints/endpoint.ts';
import { nameSchema } from '../json-schema.ts';
import { type AdminEndpoint, deleting, ofAccount, page, patching, posting, reading } from './endpoint.ts';
import { eventEndpoints } from './event-endpoints.ts';
import { exportEndpoints } from './exports.ts';
import { grantEndpoints } from './grant-endpoints.ts';
import { limitEndpoints } from './limit-endpoints.ts';
import { paymentEndpoints } from './payment-endpoints.ts';
import * as schemas from './schemas.ts';

nameSchema(accountDraftSchema, 'AdminAccountDraft');
nameSchema(accountChangeSchema, 'AdminAccountChange');
nameSchema(keyDraftSchema, 'AdminApiKeyDraft');
nameSchema(keyChangeSchema, 'AdminApiKeyChange');
nameSchema(replacementSchema, 'AdminApiKeyReplacement');
nameSchema(memberChangeSchema, 'AdminMemberChange');
nameSchema(invitationDraftSchema, 'AdminInvitationDraft');
nameSchema(creditBody, 'AdminCreditDraft');
nameSchema(correctionBody, 'AdminCorrectionDraft');
nameSchema(refundBody, 'AdminRefundDraft');
nameSchema(catalogueCheckSchema, 'AdminCatalogueCheckRequest');

const account = '/accounts/{account}';
const key = `${account}/keys/{key}`;
const member = `${account}/members/{user}`;
const invitation = `${account}/invitations/{invitation}`;

const dayOf = (name: string, description: string) =>
  queryParameter(name, description, { type: 'string', format: 'date' });

const accounts: readonly AdminEndpoint[] = [
  posting({
    path: '/accounts',
    operationId: 'createAccount',
    scope: 'accounts',
    summary: 'Create an account',
    description: 'It has no balance: give it credit next. `external_id` is its ID in your own system.',
    body: {
      schema: accountDraftSchema,
      example: { name: 'Acme Inc.', external_id: 'crm-1842', metadata: { plan: 'gold' } },
    },
    status: 201,
    response: schemas.accountSchema,
    hasTag: true,
    errors: ['external_id_taken'],
  }),
  reading({
    path: '/accounts',
    operationId: 'listAccounts',
    scope: 'read',
    summary: 'List accounts',
    query: page,
    response: schemas.listSchema(schemas.accountSchema, 'AdminAccountList', 'A page of accounts.'),
    errors: ['invalid_cursor'],
  }),
  reading({
    path: account,
    operationId: 'getAccount',
    scope: 'read',
    summary: 'Read an account',
    response: schemas.accountSchema,
    hasTag: true,
  }),
  patching({
    path: account,
    operationId: 'updateAccount',
    scope: 'accounts',
    summary: 'Update an account',
    description: 'What is left out stays as it is. `metadata` is replaced as a whole.',
    body: {
      schema: accountChangeSchema,
      example: { name: 'Acme Corporation', metadata: { plan: 'platinum' } },
    },
    response: schemas.accountSchema,
    errors: ['external_id_taken'],
  }),
  posting({
    path: `${account}/suspend`,
    operationId: 'suspendAccount',
    scope: 'accounts',
    summary: 'Suspend an account',
    description: 'All of its keys are rejected until it is resumed. Requests in progress end normally.',
    response: schemas.accountSchema,
    hasTag: true,
  }),
  posting({
    path: `${account}/resume`,
    operationId: 'resumeAccount',
    scope: 'accounts',
    summary: 'Resume an account',
    response: schemas.accountSchema,
    hasTag: true,
  }),
];

const money: readonly AdminEndpoint[] = [
  posting({
    path: `${account}/credits`,
    operationId: 'createCredit',
    scope: 'money',
    summary: 'Give credit',
    description:
      'With a `reference`, such as the number of an invoice, the credit is given once: sent again it changes nothing, and ' +
      'with another amount or memo it is refused. Without a `reference` it needs an `Idempotency-Key`. Without a `memo`, ' +
      'customers see the reference. With a `category`, a `priority` or an `expires_at` it is a grant: by default `paid`, of ' +
      'priority 50, and without an expiry. Sent again, a grant has to have the same terms.',
    body: { schema: creditBody, example: { amount: '50', reference: 'INV-2026-117' } },
    status: 201,
    response: schemas.creditSchema,
    errors: ['reference_in_use'],
  }),
  posting({
    path: `${account}/corrections`,
    operationId: 'createCorrection',
    scope: 'money',
    summary: 'Correct a balance',
    description:
      'Gives or, with a negative `amount`, takes. With an `entry_number` and no amount it undoes what is left of a credit or ' +
      'another correction. It takes no more than what is not held. The `reference` is that of no other movement of the account.',
    body: {
      schema: correctionBody,
      example: { amount: '-0.5', reason: 'Entered twice', reference: 'FIX-17', entry_number: 1 },
    },
    status: 201,
    response: schemas.correctionSchema,
    errors: [
      'reference_in_use',
      'amount_too_large',
      'nothing_left',
      'entry_not_found',
      'generation_not_found',
    ],
  }),
  posting({
    path: '/generations/{generation}/refunds',
    operationId: 'createRefund',
    scope: 'money',
    summary: 'Refund a Generation',
    description:
      'Gives back what was charged and not refunded yet, or with an `amount` a part of that. Tokens and requests stay in the ' +
      'usage; what was spent becomes less.',
    body: { schema: refundBody, example: { reason: 'Cut short', reference: 'TICKET-12' } },
    status: 201,
    response: schemas.refundSchema,
    errors: ['reference_in_use', 'amount_too_large', 'nothing_left', 'generation_not_found'],
  }),
  reading({
    path: `${account}/ledger-entries`,
    operationId: 'listLedgerEntries',
    scope: 'read',
    summary: 'List the movements of a balance',
    query: page,
    response: schemas.listSchema(
      schemas.ledgerEntrySchema,
      'AdminLedgerEntryList',
      'A page of ledger entries.',
    ),
    errors: ['invalid_cursor'],
  }),
  reading({
    path: `${account}/ledger-entries/{number}`,
    operationId: 'getLedgerEntry',
    scope: 'read',
    summary: 'Read a ledger entry',
    response: schemas.ledgerEntrySchema,
    errors: ['entry_not_found'],
  }),
];

const keys: readonly AdminEndpoint[] = [
  posting({
    path: `${account}/keys`,
    operationId: 'createKey',
    scope: 'keys',
    summary: 'Create an API key',
    description: 'The secret is in this response only.',
    body: { schema: keyDraftSchema, example: { name: 'Production', monthly_limit: '100' } },
    status: 201,
    response: schemas.newKeySchema,
    hasTag: true,
    errors: ['too_many_keys'],
  }),
  reading({
    path: `${account}/keys`,
    operationId: 'listKeys',
    scope: 'read',
    summary: 'List API keys',
    query: page,
    response: schemas.listSchema(schemas.keySchema, 'AdminApiKeyList', 'A page of API keys.'),
    errors: ['invalid_cursor'],
  }),
  reading({
    path: key,
    operationId: 'getApiKey',
    scope: 'read',
    summary: 'Read an API key',
    response: schemas.keySchema,
    hasTag: true,
    errors: ['key_not_found'],
  }),
  patching({
    path: key,
    operationId: 'updateKey',
    scope: 'keys',
    summary: 'Update an API key',
    description: 'What is left out stays as it is; null lifts a limit. A revoked key cannot be changed.',
    body: { schema: keyChangeSchema, example: { monthly_limit: '250', requests_per_minute: 1200 } },
    response: schemas.keySchema,
    errors: ['key_not_found', 'key_ended', 'too_many_keys'],
  }),
  posting({
    path: `${key}/replace`,
    operationId: 'replaceKey',
    scope: 'keys',
    summary: 'Replace an API key',
    description:
      'The new key has the settings and limits of the old one, which works until `revoke_at`, at most 30 days ahead; null ends it now.',
    body: { schema: replacementSchema, example: { revoke_at: null } },
    status: 201,
    response: schemas.newKeySchema,
    hasTag: true,
    errors: ['key_not_found', 'key_ended', 'too_many_keys', 'too_many_limits'],
  }),
  posting({
    path: `${key}/revoke`,
    operationId: 'revokeKey',
    scope: 'keys',
    summary: 'Revoke an API key',
    description: 'At once, on all nodes. Revoking it again changes nothing.',
    response: schemas.keySchema,
    hasTag: true,
    errors: ['key_not_found'],
  }),
];

const people: readonly AdminEndpoint[] = [
  posting({
    path: `${account}/invitations`,
    operationId: 'createInvitation',
    scope: 'accounts',
    summary: 'Invite someone',
    description:
      'With an `email` the link is mailed there, and only that address can accept it. Without one, hand over `url` yourself. ' +
      'It works once, for 7 days, and only until this token is revoked.',
    body: { schema: invitationDraftSchema, example: { role: 'owner' } },
    status: 201,
    response: schemas.newInvitationSchema,
    errors: ['too_many_invitations', 'already_member', 'too_many_attempts'],
  }),
  reading({
    path: `${account}/invitations`,
    operationId: 'listInvitations',
    scope: 'read',
    summary: 'List open invitations',
    response: schemas.listSchema(schemas.invitationSchema, 'AdminInvitationList', 'All open invitations.'),
  }),
  reading({
    path: invitation,
    operationId: 'getInvitation',
    scope: 'read',
    summary: 'Read an invitation',
    response: schemas.invitationSchema,
    errors: ['invitation_not_found'],
  }),
  deleting({
    path: invitation,
    operationId: 'deleteInvitation',
    scope: 'accounts',
    summary: 'Revoke an invitation',
    response: schemas.deletedSchema('invitation', 'DeletedAdminInvitation'),
    errors: ['invitation_not_found'],
  }),
  reading({
    path: `${account}/members`,
    operationId: 'listMembers',
    scope: 'read',
    summary: 'List members',
    description: 'In the order in which they joined.',
    response: schemas.listSchema(schemas.memberSchema, 'AdminMemberList', 'All members.'),
  }),
  reading({
    path: member,
    operationId: 'getMember',
    scope: 'read',
    summary: 'Read a member',
    response: schemas.memberSchema,
    hasTag: true,
    errors: ['user_not_found'],
  }),
  patching({
    path: member,
    operationId: 'updateMember',
    scope: 'accounts',
    summary: 'Change the role of a member',
    description: 'The last owner stays one.',
    body: { schema: memberChangeSchema, example: { role: 'member' } },
    response: schemas.memberSchema,
    errors: ['user_not_found', 'last_owner'],
  }),
  deleting({
    path: member,
    operationId: 'deleteMember',
    scope: 'accounts',
    summary: 'Remove a member',
    description: 'What they created remains: keys and requests belong to the account.',
    response: schemas.deletedSchema('member', 'DeletedAdminMember'),
    errors: ['user_not_found', 'last_owner'],
  }),
];

const activity: readonly AdminEndpoint[] = [
  reading({
    path: `${account}/usage`,
    operationId: 'getUsage',
    scope: 'read',
    summary: 'Usage by day, model and key',
    query: [
      dayOf('from', 'The first day (UTC). Left out, the 30 days that end with `to`.'),
      dayOf('to', 'The last day (UTC). Left out, today.'),
    ],
    response: schemas.usageSchema,
    errors: ['usage_lookup_failed'],
  }),
  reading({
    path: `${account}/generations`,
    operationId: 'listAccountGenerations',
    scope: 'read',
    summary: 'List the Generations of an account',
    query: [
      ...page,
      queryParameter('status', 'Only with this status.', {
        type: 'string',
        enum: ['in_progress', 'completed', 'failed', 'cancelled'],
      }),
      queryParameter('model', 'Only of this model.', { type: 'string' }),
      queryParameter('key', 'Only of the key with this ID.', { type: 'string', format: 'uuid' }),
      queryParameter('end_user', 'Only for this end user.', { type: 'string' }),
      queryParameter('tag', 'Only with this tag, as `name=value`.', { type: 'string' }),
      queryParameter('session', 'Only of this session.', { type: 'string' }),
    ],
    response: schemas.listSchema(
      schemas.generationRowSchema,
      'AdminGenerationList',
      'A page of Generations. With several filters a page may be short although there is a next one.',
    ),
    errors: ['invalid_cursor', 'key_not_found', 'generation_lookup_failed'],
  }),
  reading({
    path: '/generations/{generation}',
    operationId: 'getAnyGeneration',
    scope: 'read',
    summary: 'Read a Generation of any account',
    response: schemas.anyGenerationSchema,
    errors: ['generation_not_found', 'generation_lookup_failed'],
  }),
  reading({
    path: '/write-offs',
    operationId: 'listWriteOffs',
    scope: 'read',
    summary: 'List write-offs',
    query: [...page, ofAccount],
    response: schemas.listSchema(schemas.writeOffSchema, 'AdminWriteOffList', 'A page of write-offs.'),
    errors: ['invalid_cursor'],
  }),
  reading({
    path: '/discrepancies',
    operationId: 'listDiscrepancies',
    scope: 'read',
    summary: 'List discrepancies with the bills of providers',
    description:
      'Of the newest 31 reconciled days of each provider, those that are not within the tolerance.',
    response: schemas.listSchema(schemas.discrepancySchema, 'AdminDiscrepancyList', 'All of them.'),
  }),
];

const gateway: readonly AdminEndpoint[] = [
  reading({
    path: '/nodes',
    operationId: 'listNodes',
    scope: 'read',
    summary: 'List nodes',
    description: 'Those that are alive, and those that stopped or were lost within a day.',
    response: schemas.listSchema(schemas.nodeSchema, 'AdminNodeList', 'All nodes.'),
  }),
  reading({
    path: '/circuits',
    operationId: 'listCircuits',
    scope: 'read',
    summary: 'List circuits',
    description: 'One for each provider, model and node that has seen a failure. None when all is well.',
    response: schemas.listSchema(schemas.circuitSchema, 'AdminCircuitList', 'All of them.'),
  }),
  reading({
    path: '/catalogue',
    operationId: 'getCatalogue',
    scope: 'read',
    summary: 'Read the catalogue as it is loaded',
    response: schemas.catalogueSchema,
  }),
  posting({
    path: '/catalogue/check',
    operationId: 'checkCatalogue',
    scope: 'catalogue',
    summary: 'Check a catalogue',
    description: 'As `tollgate catalog check`, and at most 100 problems. At most 256 KB. Nothing is changed.',
    body: {
      schema: catalogueCheckSchema,
      example: { catalogue: 'price_version: "2026-12"\nproviders: {}\nmodels: {}\n' },
    },
    response: schemas.catalogueCheckResultSchema,
  }),
  reading({
    path: '/audit-log',
    operationId: 'listChanges',
    scope: 'read',
    summary: 'List who changed what',
    query: [...page, ofAccount],
    response: schemas.listSchema(schemas.changeSchema, 'AdminChangeList', 'A page of the audit log.'),
    errors: ['invalid_cursor'],
  }),
  reading({
    path: '/token',
    operationId: 'getToken',
    scope: null,
    summary: 'Read the token of this request',
    response: schemas.tokenSchema,
  }),
];

export const adminEndpoints: readonly AdminEndpoint[] = [
  ...accounts,
  ...money,
  ...grantEndpoints,
  ...keys,
  ...limitEndpoints,
  ...people,
  ...activity,
  ...exportEndpoints,
  ...paymentEndpoints,
  ...eventEndpoints,
  ...gateway,
];
