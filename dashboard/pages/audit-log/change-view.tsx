/** What both audit logs show of a change. */
import type { ReactNode } from 'react';
import type { AccountChange, ChangeAction, ChangedObject } from '../../../src/console/contract.ts';
import { formatMoneyExactly } from '../../kit/amounts.ts';
import { Dash, Time } from '../../kit/figures.tsx';
import { formatCount, formatDay, formatTime } from '../../kit/format-figures.ts';
import { NameWithNote } from '../../kit/name-with-note.tsx';
import type { Column } from '../../kit/table.tsx';

type ShownChange = Pick<AccountChange, 'at' | 'action' | 'object' | 'before' | 'after'>;

export const timeColumn: Column<ShownChange> = {
  key: 'time',
  header: 'Time',
  width: 'w-40',
  isBare: true,
  cell: ({ at }) => <Time at={at} style="exact" />,
};

/** `show` says what was changed, as a link where there is a page for it. */
export function actionColumn<Shown extends ShownChange>(
  show: (object: ChangedObject, change: Shown) => ReactNode = nameOf,
): Column<Shown> {
  return {
    key: 'action',
    header: 'Change',
    cell: (change) => (
      <NameWithNote
        isShort
        // Of many changes nothing else says what was changed.
        noteBetween="below"
        name={<span title={actionLabels[change.action]}>{actionLabels[change.action]}</span>}
        note={change.object !== null && show(change.object, change)}
      />
    ),
  };
}

export function nameOf({ name, id }: ChangedObject): string {
  return name ?? id;
}

/** Each field that changed, as it was and as it is. */
export const detailsColumn: Column<ShownChange> = {
  key: 'details',
  header: 'Details',
  isWrapping: true,
  width: 'md:w-2/5',
  cell: ({ before, after }) => <Details before={before} after={after} />,
};

function Details({ before, after }: Pick<ShownChange, 'before' | 'after'>) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].filter(
    // What something new does not have says nothing.
    (name) => (before !== null && name in before) || !isNothing(after?.[name]),
  );
  if (names.length === 0) return <Dash />;
  // The database sorts names by their length, so "to" would come first.
  const sorted = names.toSorted((one, other) => Number(other === 'from') - Number(one === 'from'));
  return (
    <ul className="flex flex-wrap gap-x-3">
      {sorted.map((name) => (
        <li key={name} className="wrap-anywhere">
          <span className="text-ink-faint">{name.replace(/^is_/, '').replaceAll('_', ' ')}: </span>
          {before !== null && name in before && (
            <>
              <del className="text-ink-faint">{textOf(name, before[name])}</del>
              {after !== null && name in after && ' → '}
            </>
          )}
          {after !== null && name in after && textOf(name, after[name])}
        </li>
      ))}
    </ul>
  );
}

function isNothing(value: unknown): boolean {
  return value === null || value === '' || JSON.stringify(value) === '{}';
}

/** Those of limits may be requests or tokens, which have no decimals. */
const amounts: ReadonlySet<string> = new Set([
  'amount',
  'increase',
  'low_balance',
  'monthly_cap',
  'monthly_limit',
  'target',
  'threshold',
]);

/** Those whose values are codes that read as words. Types of events and scopes of tokens are names in the API. */
const codes: ReadonlySet<string> = new Set(['kind', 'scope']);

const isoDay = /^\d{4}-\d\d-\d\d$/;
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

export function textOf(name: string, value: unknown): string {
  if (isNothing(value)) return 'none';
  if (Array.isArray(value)) return value.map((one) => textOf(name, one)).join(', ');
  if (typeof value === 'string' && amounts.has(name) && value.includes('.')) return formatMoneyExactly(value);
  if (typeof value === 'string' && isoTime.test(value)) return formatTime(new Date(value), 'moment');
  if (typeof value === 'string' && isoDay.test(value)) return formatDay(value, true);
  if (typeof value === 'string' && codes.has(name)) return value.replaceAll('_', ' ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return formatCount(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

// biome-ignore format: one line per action makes this table readable.
const actionLabels: Readonly<Record<ChangeAction, string>> = {
  create_account: 'Created the account',
  update_account: 'Changed the account',
  credit_account: 'Added credit',
  correct_account: 'Corrected the balance',
  refund_generation: 'Refunded a request',
  void_grant: 'Voided a grant',
  create_allowance: 'Created an allowance',
  end_allowance: 'Ended an allowance',
  suspend_account: 'Suspended the account',
  resume_account: 'Resumed the account',
  create_key: 'Created an API key',
  update_key: 'Changed an API key',
  replace_key: 'Replaced an API key',
  revoke_key: 'Revoked an API key',
  create_limit: 'Set a limit',
  update_limit: 'Changed a limit',
  remove_limit: 'Removed a limit',
  create_webhook: 'Added a webhook',
  update_webhook: 'Changed a webhook',
  remove_webhook: 'Removed a webhook',
  rotate_webhook_secret: 'Replaced the secret of a webhook',
  create_user: 'Created the user',
  verify_email: 'Verified the e-mail address',
  get_welcome_grant: 'Got welcome credit',
  sign_up: 'Signed up',
  make_reset_link: 'Created a password link',
  change_password: 'Chose a new password',
  sign_user_out: 'Signed the user out everywhere',
  make_operator: 'Made the user an operator',
  unmake_operator: 'Removed the user as operator',
  add_member: 'Added a member',
  update_member: 'Changed the role of a member',
  remove_member: 'Removed a member',
  create_invitation: 'Created an invitation',
  revoke_invitation: 'Revoked an invitation',
  accept_invitation: 'Accepted an invitation',
  create_token: 'Created an admin token',
  revoke_token: 'Revoked an admin token',
  retry_settlements: 'Retried failed settlements',
  repair_ledger: 'Corrected counters of the ledger',
  reconcile_bill: 'Reconciled the bill',
  create_codes: 'Created codes',
  void_codes: 'Voided codes',
  redeem_code: 'Redeemed a code',
  update_top_up: 'Changed automatic top-ups',
  remove_card: 'Removed the saved card',
  refund_payment: 'Refunded a payment',
};
