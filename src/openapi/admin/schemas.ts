/** What the admin API answers with. */
import { z } from 'zod';
import { allowancePeriods } from '../../grants/allowances.ts';
import { grantStates } from '../../grants/grant-store.ts';
import { grantCategories } from '../../ledger/movements.ts';
import { limitKinds } from '../../ledger/operations.ts';
import { scopes } from '../../tokens/token-store.ts';
import { count, exactUsd, quantity, requestId, timestamp, uuid } from '../schemas/fields.ts';
import { generationSchema, generationSummaryFields } from '../schemas/generations.ts';

/** Charges and corrections are negative, and so may be what a cache saved. */
const signedUsd = z.string().regex(/^-?\d+\.\d{12}$/);
const day = z.string().regex(/^\d{4}-\d\d-\d\d$/);
const role = z.enum(['owner', 'member']);
const named = z.strictObject({ id: uuid, name: z.string() });

export function listSchema(item: z.core.$ZodType, id: string, description: string) {
  return z
    .strictObject({
      object: z.literal('list'),
      data: z.array(item).describe('Newest first, unless said otherwise.'),
      has_more: z.boolean(),
      next_cursor: z.string().min(1).nullable().describe('For the next page; null on the last one.'),
    })
    .meta({ id, description });
}

export function deletedSchema(object: string, id: string) {
  return z
    .strictObject({ object: z.literal(object), id: uuid, deleted: z.literal(true) })
    .meta({ id, description: 'It no longer exists.' });
}

export const accountSchema = z
  .strictObject({
    object: z.literal('account'),
    id: uuid,
    external_id: z.string().nullable().describe('Its ID in your own system. Unique.'),
    name: z.string(),
    metadata: z.record(z.string(), z.string()).describe('What your own systems store with it.'),
    price_group: z
      .string()
      .nullable()
      .describe('The group of the catalogue whose prices it pays; null for list prices.'),
    low_balance: exactUsd
      .nullable()
      .describe('Below this balance there is an event `balance.low`; null for never.'),
    is_suspended: z.boolean().describe('Whether all of its keys are rejected.'),
    balance: signedUsd,
    held: exactUsd.describe('What is held for requests in progress.'),
    available: signedUsd.describe('The balance without what is held.'),
    balances: z
      .strictObject({ paid: exactUsd, promotional: exactUsd, allowance: exactUsd })
      .describe('The balance by category, with what is held.'),
    month_spent: exactUsd.describe('What was charged in the calendar month (UTC).'),
    keys_in_force: count,
    members: count,
    created_at: timestamp,
  })
  .meta({ id: 'AdminAccount', description: 'A customer: a balance, API keys, members.' });

const keyFields = {
  object: z.literal('api_key'),
  id: uuid.describe('Not a secret.'),
  account_id: uuid,
  name: z.string(),
  hint: z.string().describe('How the key ends, to recognise it.'),
  state: z
    .enum(['active', 'replaced', 'revoked', 'expired'])
    .describe('`replaced` works until `revoked_at`, which is in the future.'),
  requests_per_minute: count,
  max_concurrent: count.describe('How many of its requests may be in progress at once.'),
  monthly_limit: exactUsd.nullable().describe('USD per calendar month (UTC); null for no limit.'),
  allowed_models: z.array(z.string()).nullable().describe('Null allows every model.'),
  expires_at: timestamp.nullable(),
  revoked_at: timestamp.nullable(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
  month_spent: exactUsd,
  held: exactUsd,
};
export const keySchema = z.strictObject(keyFields).meta({
  id: 'AdminApiKey',
  description: 'A key, its limits, and what it has spent. Never the key itself.',
});
export const newKeySchema = z
  .strictObject({ ...keyFields, secret: z.string().describe('The key itself. It is in this response only.') })
  .meta({ id: 'NewAdminApiKey', description: 'A key with its secret, which is not stored.' });

export const limitSchema = z
  .strictObject({
    object: z.literal('limit'),
    id: uuid,
    account_id: uuid,
    scope: z
      .enum(['account', 'key', 'end_user', 'each_end_user'])
      .describe('What it is for. A limit of an end user replaces that of each end user, of the same kind.'),
    key_id: uuid.nullable().describe('For the scope `key`.'),
    end_user: z.string().nullable().describe('For the scope `end_user`.'),
    kind: z.enum(limitKinds),
    set_by: z.enum(['operator', 'account']).describe('Owners of the account change only what they have set.'),
    amount: quantity.describe('USD, requests or tokens.'),
    increase: z
      .strictObject({ amount: quantity, until: timestamp })
      .nullable()
      .describe('Added to the amount until then.'),
    used: quantity.nullable().describe('Since the window began. Null for the scope `each_end_user`.'),
    held: quantity.nullable().describe('By requests in progress. Null for the scope `each_end_user`.'),
    resets_at: timestamp.nullable().describe('When the next window begins; null without windows.'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'AdminLimit', description: 'How much an account, a key or an end user may use.' });

export const memberSchema = z
  .strictObject({
    object: z.literal('member'),
    id: uuid.describe('The ID of the user.'),
    account_id: uuid,
    email: z.string(),
    name: z.string(),
    role,
    created_at: timestamp.describe('When they joined.'),
  })
  .meta({ id: 'AdminMember', description: 'A user who belongs to an account.' });

const invitationFields = {
  object: z.literal('invitation'),
  id: uuid,
  account_id: uuid,
  role,
  email: z.string().nullable().describe('The only address that can accept it, where it was mailed.'),
  invited_by: z.string().nullable().describe('The owner who made it; null for an admin token.'),
  created_at: timestamp,
  expires_at: timestamp,
};
export const invitationSchema = z
  .strictObject(invitationFields)
  .meta({ id: 'AdminInvitation', description: 'An invitation that can still be accepted.' });
export const newInvitationSchema = z
  .strictObject({
    ...invitationFields,
    url: z.string().nullable().describe('The link, in this response only; null when it was mailed.'),
  })
  .meta({ id: 'NewAdminInvitation', description: 'An invitation with its link.' });

const entryNumber = z
  .int()
  .min(1)
  .nullable()
  .describe('The ledger entry; null for one from before this was recorded.');

export const creditSchema = z
  .strictObject({
    object: z.literal('credit'),
    account_id: uuid,
    entry_number: entryNumber,
    amount: exactUsd,
    memo: z.string().nullable(),
    reference: z.string().nullable(),
    balance: signedUsd.describe('The balance now.'),
    already_credited: z
      .boolean()
      .describe('Whether it was given before with this reference, and not again now.'),
  })
  .meta({ id: 'AdminCredit', description: 'A credit that was given.' });

export const grantSchema = z
  .strictObject({
    object: z.literal('grant'),
    account_id: uuid,
    id: uuid,
    entry_number: z
      .int()
      .min(1)
      .nullable()
      .describe('The ledger entry that it came with; null for the balance from before the first grant.'),
    state: z
      .enum(grantStates)
      .describe('Something may be left of one that has expired or was voided: what is held for requests.'),
    category: z.enum(grantCategories),
    amount: exactUsd,
    remaining: exactUsd.describe('What is left, with what is held.'),
    priority: z.int().min(0).max(100).describe('The lower number is spent first.'),
    expires_at: timestamp.nullable(),
    memo: z.string().nullable().describe('Of its ledger entry.'),
    allowance_id: uuid.nullable().describe('The allowance that it was given for.'),
    voided_at: timestamp.nullable(),
    void_reason: z.string().nullable().describe('The customer sees it.'),
    created_at: timestamp,
  })
  .meta({ id: 'AdminGrant', description: 'Credit that is told apart from other money of its account.' });

export const allowanceSchema = z
  .strictObject({
    object: z.literal('allowance'),
    account_id: uuid,
    id: uuid,
    amount: exactUsd,
    every: z.enum(allowancePeriods).describe('Days, weeks from Monday, or calendar months (UTC).'),
    priority: z.int().min(0).max(100),
    note: z.string().nullable().describe('The customer sees it.'),
    next_at: timestamp.nullable().describe('When it is given the next time; null once it has ended.'),
    created_at: timestamp,
    ended_at: timestamp.nullable(),
  })
  .meta({
    id: 'AdminAllowance',
    description: 'A grant that an account gets anew each day, week or month. Each lasts until the next.',
  });

const byHand = {
  account_id: uuid,
  entry_number: entryNumber,
  reason: z.string().describe('The customer sees it.'),
  reference: z.string(),
  balance: signedUsd.describe('The balance now.'),
  already_booked: z
    .boolean()
    .describe('Whether it was booked before with this reference, and not again now.'),
};
export const correctionSchema = z
  .strictObject({ object: z.literal('correction'), amount: signedUsd, ...byHand })
  .meta({ id: 'AdminCorrection', description: 'A correction of a balance.' });
export const refundSchema = z
  .strictObject({ object: z.literal('refund'), amount: exactUsd, ...byHand })
  .meta({ id: 'AdminRefund', description: 'A refund of a charge, or of a part of it.' });

const draws = z
  .array(z.strictObject({ grant_id: uuid, category: z.enum(grantCategories), amount: signedUsd }))
  .nullable();

export const ledgerEntrySchema = z
  .strictObject({
    object: z.literal('ledger_entry'),
    account_id: uuid,
    number: z.int().min(1).describe('Without gaps within an account.'),
    kind: z.enum(['credit', 'charge', 'refund', 'correction', 'expiry', 'void']),
    amount: signedUsd.describe(
      'Negative for a charge, and for what was left of a grant that expired or was voided; of either sign for a correction.',
    ),
    is_estimated: z
      .boolean()
      .describe('Whether the gateway ended the call before the provider reported usage.'),
    balance_after: signedUsd,
    memo: z.string().nullable().describe('Of a correction, or a refund by hand: the reason.'),
    reference: z.string().nullable(),
    generation: z.strictObject({ id: requestId, model: z.string().nullable() }).nullable(),
    concerns_entry: z
      .int()
      .min(1)
      .nullable()
      .describe('The entry that a correction is about, or of the grant that has ended.'),
    drawn_from: draws.describe(
      'What it took from which grants; a refund gives back, with negative amounts. Null if it took nothing, and for accounts without grants.',
    ),
    is_by_hand: z
      .boolean()
      .describe('Whether someone made it: not so for charges, and for refunds by the gateway itself.'),
    created_at: timestamp,
  })
  .meta({ id: 'AdminLedgerEntry', description: 'A movement of a balance. It never changes.' });

export const writeOffSchema = z
  .strictObject({
    object: z.literal('write_off'),
    generation: requestId,
    account_id: uuid,
    reason: z.enum(['usage_missing', 'insufficient_balance', 'interrupted', 'implausible_usage']),
    amount: exactUsd.nullable().describe('Null when it is unknown.'),
    created_at: timestamp,
  })
  .meta({ id: 'AdminWriteOff', description: 'What the operator, not the customer, bears.' });

export const discrepancySchema = z
  .strictObject({
    object: z.literal('discrepancy'),
    provider: z.string(),
    day,
    charged: signedUsd,
    metered: signedUsd.describe('With what no customer was charged for.'),
    uncharged: signedUsd,
    billed: signedUsd.nullable(),
    difference: signedUsd.nullable().describe('What was billed beyond the metered cost.'),
    tolerance: exactUsd,
    is_within: z.boolean().nullable(),
    is_preliminary: z.boolean().describe('Whether the provider may still correct the day.'),
    compared_at: timestamp,
    changed: z.strictObject({ at: timestamp, before: signedUsd }).nullable(),
  })
  .meta({ id: 'AdminDiscrepancy', description: 'A day whose bill is not within the tolerance.' });

const figures = {
  requests: count,
  input_tokens: count,
  output_tokens: count,
  images: count,
  cost: signedUsd,
  cache_read_tokens: count.describe('A part of the input.'),
  cache_write_tokens: count.describe('A part of the input.'),
  cache_saved: signedUsd.describe('How much less the input cost than at its full price.'),
};
export const usageSchema = z
  .strictObject({
    object: z.literal('usage'),
    account_id: uuid,
    from: day,
    to: day,
    totals: z.strictObject(figures),
    rows: z
      .array(z.strictObject({ day, model: z.string(), key_id: uuid, key_name: z.string(), ...figures }))
      .describe('One for each day, model and key with usage, in that order.'),
  })
  .meta({ id: 'AdminUsage', description: 'What an account used, by UTC day, model and key.' });

export const generationRowSchema = z
  .strictObject({ ...generationSummaryFields, key: named })
  .meta({ id: 'AdminGenerationSummary', description: 'The outcome of one inference request, in short.' });

export const anyGenerationSchema = z
  .strictObject({
    ...generationSchema.shape,
    key: z.strictObject({ id: uuid, name: z.string(), hint: z.string() }),
    account: named,
    meters: z
      .array(
        z.strictObject({
          meter: z.enum(['fresh_input', 'cache_read', 'cache_write', 'cache_write_long', 'output']),
          tokens: count,
          cost: exactUsd,
        }),
      )
      .nullable(),
    ledger: z
      .strictObject({
        charged: exactUsd,
        refunded: exactUsd.nullable(),
        refunds: z.array(z.strictObject({ amount: exactUsd, reason: z.string().nullable(), at: timestamp })),
        is_estimated: z.boolean(),
        written_off: exactUsd.nullable(),
        write_off_reason: z.string().nullable(),
      })
      .nullable()
      .describe('Null while the request is open.'),
    reported_usage: z
      .strictObject({
        input_tokens: count,
        output_tokens: count,
        counts: z.array(z.strictObject({ name: z.string(), count: z.number().nullable() })).nullable(),
      })
      .nullable()
      .describe('What the provider reported, when it was implausible.'),
    drawn_from: draws.describe(
      'What its charge took from which grants, before refunds. Null without a charge, and for accounts without grants.',
    ),
  })
  .meta({ id: 'AdminGeneration', description: 'The outcome of one inference request of any account.' });

export const nodeSchema = z
  .strictObject({
    object: z.literal('node'),
    id: uuid,
    name: z.string(),
    state: z.enum(['alive', 'stopped', 'lost']),
    started_at: timestamp,
    heartbeat_at: timestamp,
    open_generations: count,
    held: exactUsd,
    price_version: z.string().nullable(),
    catalog_error: z.string().nullable(),
    is_this: z.boolean().describe('Whether it served this request.'),
  })
  .meta({ id: 'AdminNode', description: 'A gateway process.' });

export const circuitSchema = z
  .strictObject({
    object: z.literal('circuit'),
    provider: z.string(),
    node: z.string(),
    model: z.string(),
    state: z.enum(['closed', 'open', 'half_open']),
    consecutive_failures: count,
    until: timestamp.nullable().describe('When the provider is called again.'),
    failing_since: timestamp
      .nullable()
      .describe('When it opened, if no call has succeeded since. It is not closed before one has.'),
    accounts_shut: count.describe(
      'For how many accounts it is open because of failures that only they have seen.',
    ),
    setback: z
      .strictObject({
        kind: z.enum(['key', 'credit', 'model']),
        upstream_status: z.int().nullable(),
        at: timestamp,
      })
      .nullable()
      .describe('A problem that only the operator can fix.'),
  })
  .meta({ id: 'AdminCircuit', description: 'A provider and model that a node has seen failing.' });

export const catalogueSchema = z
  .strictObject({
    object: z.literal('catalogue'),
    file: z.string(),
    price_version: z.string(),
    loaded_at: timestamp,
    digest: z.string(),
    error: z.strictObject({ message: z.string(), at: timestamp }).nullable(),
    warnings: z.array(z.string()),
    price_groups: z.array(z.strictObject({ name: z.string(), price_version: z.string(), accounts: count })),
    providers: count,
    models: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        workload: z.string(),
        is_enabled: z.boolean(),
        is_callable: z.boolean(),
        reason: z.string().nullable(),
        providers: z.array(z.strictObject({ id: z.string(), is_configured: z.boolean() })),
      }),
    ),
  })
  .meta({ id: 'AdminCatalogue', description: 'The catalogue in force on the node that answers.' });

export const catalogueCheckResultSchema = z
  .strictObject({
    object: z.literal('catalogue_check'),
    ok: z.boolean(),
    problems: z.array(z.string()),
    price_version: z.string().nullable(),
    models: count.nullable(),
    providers: count.nullable(),
    warnings: z.array(z.string()).describe('What can be sold below cost.'),
    notes: z.array(z.string()),
  })
  .meta({
    id: 'AdminCatalogueCheck',
    description: 'Whether a catalogue would be loaded. Nothing is changed.',
  });

const fields = z.record(z.string(), z.unknown()).nullable();
export const changeSchema = z
  .strictObject({
    object: z.literal('change'),
    id: uuid,
    at: timestamp,
    door: z.enum(['api', 'cli', 'dashboard']),
    actor: z.strictObject({
      type: z.enum(['user', 'token', 'shell']),
      id: uuid.nullable(),
      name: z.string().describe('An e-mail address, the name of a token, or `user@host`.'),
    }),
    address: z.string().nullable().describe('Where the request came from; null at the command line.'),
    action: z.string(),
    account: named.nullable(),
    target: z
      .strictObject({ type: z.string(), id: z.string(), name: z.string().nullable() })
      .nullable()
      .describe('What was changed.'),
    before: fields.describe('The fields that changed, as they were; null for what is new.'),
    after: fields.describe('The same fields as they are now.'),
  })
  .meta({ id: 'AdminChange', description: 'Who changed what. It never holds a secret.' });

export const tokenSchema = z
  .strictObject({
    object: z.literal('admin_token'),
    id: uuid,
    name: z.string(),
    hint: z.string(),
    state: z.enum(['active', 'revoked', 'expired']),
    scopes: z.array(z.enum(scopes)),
    networks: z.array(z.string()).nullable().describe('The only addresses that it can be used from.'),
    requests_per_minute: count,
    created_by: z.string().nullable(),
    created_at: timestamp,
    expires_at: timestamp.describe('At most a year after it was created.'),
    revoked_at: timestamp.nullable(),
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'AdminToken', description: 'The token of this request. Never the token itself.' });
