/** The endpoints that events are sent to: who has them, what they get, and with which secret it is signed. */
import type { SQL, TransactionSQL } from 'bun';
import { type Actor, differenceOf, recordChange } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import { testEventType } from '../events/event.ts';
import { newId } from '../lib/ids.ts';
import { newSecret, showSecret } from './signature.ts';
import { encryptSecret } from './stored-secret.ts';

/** An account's endpoint, or with null one of the operator. */
export type EndpointOwner = Readonly<{ accountId: string | null }>;
export type OwnedEndpoint = EndpointOwner & Readonly<{ id: string }>;

/** By its names on the wire. Never with its secret. */
export type Endpoint = Readonly<{
  id: string;
  account_id: string | null;
  url: string;
  description: string;
  /** Null for all that its owner can get. */
  types: readonly string[] | null;
  created_at: Date;
  disabled_at: Date | null;
  disabled_because: 'owner' | 'operator' | 'gone' | 'failing' | null;
  failing_since: Date | null;
  /** Until when the secret before this one signs, too. */
  previous_until: Date | null;
}>;

export type EndpointDraft = Readonly<{ url: string; description: string; types: readonly string[] | null }>;

/** What is undefined stays as it is. */
export type EndpointChange = Readonly<{
  url?: string | undefined;
  description?: string | undefined;
  types?: readonly string[] | null | undefined;
  isEnabled?: boolean | undefined;
}>;

/** The secret is shown once; then only the gateway can read it. */
type CreatedEndpoint = Readonly<{ id: string; secret: string }>;

export const maxEndpointsOfAccount = 10;
const maxEndpointsOfOperator = 50;
/** How long a receiver has to learn a new secret. */
const rotationHours = 24;

export function endpointColumns(sql: SQL) {
  return sql`webhook_endpoints.id, webhook_endpoints.account_id, url, description, types, webhook_endpoints.created_at,
    disabled_at, disabled_because, failing_since, case when previous_until > now() then previous_until end as previous_until`;
}

export function isOwnedBy(sql: SQL, { accountId }: EndpointOwner) {
  return accountId === null
    ? sql`webhook_endpoints.account_id is null`
    : sql`webhook_endpoints.account_id = ${accountId}::uuid`;
}

export function maxEndpointsOf({ accountId }: EndpointOwner): number {
  return accountId === null ? maxEndpointsOfOperator : maxEndpointsOfAccount;
}

/** The newest first. */
export async function findEndpoints(sql: SQL, owner: EndpointOwner): Promise<Endpoint[]> {
  return await sql<Endpoint[]>`
    select ${endpointColumns(sql)} from webhook_endpoints where ${isOwnedBy(sql, owner)} order by id desc`;
}

export async function requireEndpoint(sql: SQL, owned: OwnedEndpoint): Promise<Endpoint> {
  const [endpoint] = await sql<Endpoint[]>`
    select ${endpointColumns(sql)} from webhook_endpoints where id = ${owned.id} and ${isOwnedBy(sql, owned)}`;
  if (endpoint === undefined) throw new ApiError('webhook_not_found');
  return endpoint;
}

export async function createEndpointAs(
  transaction: TransactionSQL,
  actor: Actor,
  owner: EndpointOwner,
  draft: EndpointDraft,
  encryptionKey: Buffer,
): Promise<CreatedEndpoint> {
  const { accountId } = owner;
  await requireActive(transaction, owner);
  await transaction`select pg_advisory_xact_lock(hashtextextended(${`webhooks ${accountId}`}, 0))`;
  const [{ count }] = await transaction<[{ count: number }]>`
    select count(*)::int as count from webhook_endpoints where ${isOwnedBy(transaction, owner)}`;
  if (count >= maxEndpointsOf(owner)) throw new ApiError('too_many_webhooks');
  const id = newId();
  const secret = newSecret();
  await transaction`
    insert into webhook_endpoints (id, account_id, url, description, types, secret)
    values (${id}, ${accountId}, ${draft.url}, ${draft.description}, ${arrayOf(transaction, draft.types)},
            ${encryptSecret(secret, encryptionKey, id)})`;
  await recordChange(transaction, actor, {
    action: 'create_webhook',
    accountId,
    object: { type: 'webhook', id },
    after: described(draft),
  });
  return { id, secret: showSecret(secret) };
}

/**
 * Enabling one that was disabled sends what is still due. What the operator has disabled, only the operator enables. `check`
 * sees what is about to be changed, and may throw.
 */
export async function changeEndpointAs(
  transaction: TransactionSQL,
  actor: Actor,
  owned: OwnedEndpoint,
  change: EndpointChange,
  check: (current: Endpoint) => void = () => undefined,
): Promise<void> {
  const { id, accountId } = owned;
  const before = await lockEndpoint(transaction, owned);
  check(before);
  const after = {
    url: change.url ?? before.url,
    description: change.description ?? before.description,
    types: change.types === undefined ? before.types : change.types,
    disabledBecause: disabledAfter(before, change.isEnabled, isOfOperator(actor, owned)),
  };
  const difference = differenceOf(
    { ...described(before), ...describedState(before.disabled_because) },
    { ...described(after), ...describedState(after.disabledBecause) },
  );
  const isMoved = before.url !== after.url;
  if (Object.keys(difference.after).length === 0 && !isMoved) return;
  const isToggled = (after.disabledBecause === null) !== (before.disabled_because === null);
  if (isMoved || (isToggled && after.disabledBecause === null)) await requireActive(transaction, owned);
  await transaction`
    update webhook_endpoints
    set url = ${after.url}, description = ${after.description}, types = ${arrayOf(transaction, after.types)},
        disabled_because = ${after.disabledBecause},
        disabled_at = case when ${isToggled} then case when ${after.disabledBecause !== null} then now() end else disabled_at end,
        failing_since = case when ${isToggled || isMoved} then null else failing_since end,
        is_prompt = is_prompt and not ${isMoved},
        rest_until = case when ${isToggled || isMoved} then null else rest_until end
    where id = ${id}`;
  if (isToggled) await transaction`delete from webhook_replays where endpoint_id = ${id}`;
  await transaction`update webhook_endpoints set due_at = ${dueAt(transaction)} where id = ${id}`;
  await recordChange(transaction, actor, {
    action: 'update_webhook',
    accountId,
    object: { type: 'webhook', id },
    ...difference,
  });
}

/** Owners have the dashboard alone, in which operators change their own webhooks only. */
function isOfOperator({ door }: Actor, { accountId }: EndpointOwner): boolean {
  return door !== 'dashboard' && accountId !== null;
}

function disabledAfter(
  { disabled_because: before }: Endpoint,
  isEnabled: boolean | undefined,
  isByOperator: boolean,
): Endpoint['disabled_because'] {
  if (isEnabled === undefined) return before;
  if (!isEnabled) return isByOperator ? 'operator' : (before ?? 'owner');
  if (before === 'operator' && !isByOperator)
    throw new ApiError('permission_denied', {
      message: 'The operator has disabled this webhook, and only the operator can enable it.',
    });
  return null;
}

export async function removeEndpointAs(
  transaction: TransactionSQL,
  actor: Actor,
  owned: OwnedEndpoint,
): Promise<void> {
  const { id, accountId } = owned;
  const endpoint = await lockEndpoint(transaction, owned);
  await transaction`delete from webhook_endpoints where id = ${id}`;
  await recordChange(transaction, actor, {
    action: 'remove_webhook',
    accountId,
    object: { type: 'webhook', id },
    before: described(endpoint),
  });
}

/** Both secrets sign for a day. Returns the new one. */
export async function rotateSecretAs(
  transaction: TransactionSQL,
  actor: Actor,
  owned: OwnedEndpoint,
  encryptionKey: Buffer,
): Promise<string> {
  const { id, accountId } = owned;
  await lockEndpoint(transaction, owned);
  const secret = newSecret();
  await transaction`
    update webhook_endpoints
    set previous_secret = secret, previous_until = now() + make_interval(hours => ${rotationHours}::int),
        secret = ${encryptSecret(secret, encryptionKey, id)}
    where id = ${id}`;
  await recordChange(transaction, actor, {
    action: 'rotate_webhook_secret',
    accountId,
    object: { type: 'webhook', id },
  });
  return showSecret(secret);
}

/** So that nobody can have the gateway knock at a stranger's door again and again. */
const maxTestsPerMinute = 10;

/** An event that only this endpoint gets, whatever types it has chosen. */
export async function sendTest(transaction: TransactionSQL, owned: OwnedEndpoint): Promise<string> {
  await lockSendable(transaction, owned);
  const [{ count }] = await transaction<[{ count: number }]>`
    select count(*)::int as count from events
    where id >= first_id_at(now() - interval '1 minute') and type = ${testEventType}
      and account_id is not distinct from ${owned.accountId}::uuid`;
  if (count >= maxTestsPerMinute) throw new ApiError('too_many_attempts', { retryAfterSeconds: 60 });
  const data = JSON.stringify({ endpoint_id: owned.id });
  const [event] = await transaction<[{ id: string }]>`
    insert into events (account_id, type, data) values (${owned.accountId}::uuid, ${testEventType}, ${data}::text::jsonb)
    returning id`;
  return event.id;
}

/** Part of an update: when the endpoint has something to send next, which is null for never. The row is locked. */
export function dueAt(sql: SQL, restUntil = sql`webhook_endpoints.rest_until`) {
  return sql`(
    select greatest(case when is_replaying then now() else next_at end, ${restUntil})
    from (
      select (select min(next_at) from webhook_deliveries
              where endpoint_id = webhook_endpoints.id and state = 'pending') as next_at,
             exists (select 1 from webhook_replays
                     where endpoint_id = webhook_endpoints.id and after_position < last_position) as is_replaying
    ) as waiting where is_replaying or next_at is not null)`;
}

/** Throws for one that nobody may have anything sent to. */
export async function requireSendable(sql: SQL, owned: OwnedEndpoint): Promise<Endpoint> {
  const endpoint = await requireEndpoint(sql, owned);
  await requireActive(sql, owned);
  if (endpoint.disabled_at !== null) throw new ApiError('webhook_disabled');
  return endpoint;
}

export async function lockSendable(transaction: TransactionSQL, owned: OwnedEndpoint): Promise<Endpoint> {
  await transaction`
    select 1 from webhook_endpoints where id = ${owned.id} and ${isOwnedBy(transaction, owned)} for no key update`;
  return await requireSendable(transaction, owned);
}

/** A suspended account is told what happens to it, but has nothing sent that it chooses. */
async function requireActive(sql: SQL, { accountId }: EndpointOwner): Promise<void> {
  if (accountId === null) return;
  const suspended = await sql`select 1 from accounts where id = ${accountId} and suspended_at is not null`;
  if (suspended.length > 0)
    throw new ApiError('account_suspended', {
      message:
        'This account is suspended. Until it is resumed, its webhooks get its events and nothing else.',
    });
}

async function lockEndpoint(transaction: TransactionSQL, owned: OwnedEndpoint): Promise<Endpoint> {
  await transaction`
    select 1 from webhook_endpoints where id = ${owned.id} and ${isOwnedBy(transaction, owned)} for update`;
  return await requireEndpoint(transaction, owned);
}

function arrayOf(sql: SQL, types: readonly string[] | null) {
  return types === null ? sql`null::text[]` : sql`${sql.array([...types], 'text')}`;
}

/** An address may have a secret in its path or its query, and the log has none. */
function described({ url, description, types }: EndpointDraft) {
  return { url: new URL(url).origin, description, types };
}

/** That it is disabled, and if an owner cannot change that, by whom. */
function describedState(because: Endpoint['disabled_because']) {
  return { is_enabled: because === null, ...(because === 'operator' ? { disabled_because: because } : {}) };
}
