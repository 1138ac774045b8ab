import { Link } from '@tanstack/react-router';
import { Ellipsis, Gauge, Pencil, RefreshCw, Trash2 } from 'lucide-react';
import type { Key } from '../../../src/console/contract.ts';
import {
  formatMoneyExactly,
  isInCents,
  shareOfLimit,
  signOfMoney,
  sumMoney,
  toneOfShare,
} from '../../kit/amounts.ts';
import { Badge, StatusBadge } from '../../kit/badge.tsx';
import { IconButton } from '../../kit/button.tsx';
import { classNames } from '../../kit/class-names.ts';
import { Money, Time } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Menu, MenuItem, MenuSeparator } from '../../kit/menu.tsx';
import { actionsColumn, type Column } from '../../kit/table.tsx';
import { UseOfLimit } from '../../kit/use-of-limit.tsx';
import { keyLink } from '../../links.ts';
import { nearLimitHint } from './key-fields.tsx';
import { describeTightLimit, shownStateOf } from './key-list.ts';

export type KeyAction = 'edit' | 'limits' | 'replace' | 'revoke';

/** How many limits a key has besides its settings. */
export type LimitCounts = ReadonlyMap<string, number>;

const dataColumns = (limitCounts: LimitCounts, account?: string): readonly Column<Key>[] => [
  {
    key: 'name',
    header: 'Name',
    isBare: true,
    cell: (key) => <KeyName subject={key} limitCount={limitCounts.get(key.id) ?? 0} account={account} />,
  },
  { key: 'state', header: 'Status', cell: (key) => <KeyState subject={key} /> },
  {
    key: 'rate',
    header: 'Requests/min',
    align: 'right',
    isWide: true,
    cell: (key) => <KeyRate subject={key} />,
  },
  {
    key: 'spend',
    header: 'Spent this month',
    cell: (key) => <KeySpend subject={key} />,
  },
  {
    key: 'used',
    header: 'Last used',
    cell: ({ last_used_at: at }) => (
      <span className="inline-block first-letter:uppercase">
        <Time at={at} style="distance" otherwise="Never" />
      </span>
    ),
  },
  {
    key: 'expiry',
    isOptional: true,
    isWide: true,
    header: 'Expires',
    cell: ({ expires_at: at }) => <Time at={at} style="distance" otherwise="Never" />,
  },
];

/** For operators on the page of an account, whose address does not say which account the page of a key is about. */
export function keyColumnsOf(account: string): readonly Column<Key>[] {
  return dataColumns(noLimits, account);
}

const noLimits: LimitCounts = new Map();

/** Members get no actions. */
export function keyColumns(
  limitCounts: LimitCounts,
  onAction?: (action: KeyAction, key: Key) => void,
): readonly Column<Key>[] {
  if (onAction === undefined) return dataColumns(limitCounts);
  return [
    ...dataColumns(limitCounts),
    actionsColumn((key) =>
      key.state === 'revoked' ? null : <KeyMenu subject={key} onAction={(action) => onAction(action, key)} />,
    ),
  ];
}

type KeyNameProps = Readonly<{ subject: Key; limitCount: number; account: string | undefined }>;

function KeyName({ subject, limitCount, account }: KeyNameProps) {
  const { id, name, hint, state, allowed_models: models } = subject;
  return (
    <span
      className={classNames(
        'flex flex-wrap items-baseline gap-x-2 md:flex-nowrap',
        state === 'revoked' && 'opacity-75',
      )}
    >
      <Link
        {...keyLink(id, account)}
        title={name}
        className="rounded font-medium hover:underline hover:underline-offset-2 md:max-w-full md:shrink-0 md:truncate xl:max-w-64"
      >
        {name}
      </Link>
      {/* It gives way to a long name. */}
      <span className="text-ink-faint md:min-w-0 md:truncate">
        <code className="font-mono">{hint}</code>
        {models !== null && (
          <span
            title={models.join(', ')}
          >{` · ${models.length === 1 ? models[0] : `${models.length} models`}`}</span>
        )}
        {limitCount > 0 && (
          <>
            {' · '}
            <Link to="/limits" search={{ key: id }} className="underline hover:text-ink">
              {limitCount === 1 ? '1 limit' : `${limitCount} limits`}
            </Link>
          </>
        )}
      </span>
    </span>
  );
}

/** `isBrief`: without the reason, where the page says it elsewhere. */
export function KeyState({ subject, isBrief = false }: Readonly<{ subject: Key; isBrief?: boolean }>) {
  const { state, revoked_at: revokedAt } = subject;
  const tight = describeTightLimit(subject);
  return (
    <span className="inline-flex flex-col items-start gap-0.5" title={tight?.why ?? undefined}>
      {tight === null ? (
        <StatusBadge status={shownStateOf(subject)} />
      ) : (
        <Badge tone={tight.tone} hasDot>
          {tight.label}
        </Badge>
      )}
      {!isBrief && tight !== null && tight.why !== null && (
        // Where there is little room, the title says it.
        <span className={classNames('md:max-xl:hidden', tight.tone === 'bad' ? 'text-bad' : 'text-ink-soft')}>
          {tight.why}
        </span>
      )}
      {state === 'replaced' && (
        <span className="text-ink-faint md:max-xl:hidden">
          expires <Time at={revokedAt} style="distance" />
        </span>
      )}
    </span>
  );
}

function KeyRate({ subject }: Readonly<{ subject: Key }>) {
  const { requests_per_minute: perMinute, max_concurrent: concurrent } = subject;
  return (
    <span className="figures">
      <span title={`${formatCount(perMinute)} requests per minute`}>{formatCount(perMinute)}</span>
      <span
        className="whitespace-nowrap text-ink-faint md:max-xl:hidden"
        title={`At most ${formatCount(concurrent)} concurrent requests`}
      >
        {' · '}
        {formatCount(concurrent)} concurrent
      </span>
    </span>
  );
}

function KeySpend({ subject }: Readonly<{ subject: Key }>) {
  const { name, month_spent: spent, held, monthly_limit: limit } = subject;
  if (limit === null)
    return (
      <span>
        <Money amount={spent} isTotal /> <span className="text-ink-faint">· no limit</span>
        <Held amount={held} isTotal />
      </span>
    );
  const share = shareOfLimit(sumMoney([spent, held]), limit);
  return (
    <UseOfLimit
      label={`Used of the limit of ${name}`}
      title={nearLimitHint}
      share={share}
      tone={describeTightLimit(subject)?.tone === 'bad' ? 'bad' : toneOfShare(share)}
      certainShare={shareOfLimit(spent, limit)}
      figures={
        <>
          <Money amount={spent} isTotal={isInCents(limit)} />{' '}
          <span className="text-ink-faint">of {formatMoneyExactly(limit)}</span>
        </>
      }
    >
      <Held amount={held} isTotal={isInCents(limit)} />
    </UseOfLimit>
  );
}

/** Amounts held for running requests count against the limit until they are charged or released. */
function Held({ amount, isTotal }: Readonly<{ amount: string; isTotal: boolean }>) {
  if (signOfMoney(amount) === 0) return null;
  return (
    <span className="text-ink-faint">
      {' '}
      plus <Money amount={amount} isTotal={isTotal} /> held
    </span>
  );
}

type KeyMenuProps = Readonly<{ subject: Key; onAction: (action: KeyAction) => void }>;

function KeyMenu({ subject, onAction }: KeyMenuProps) {
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${subject.name}`} />}>
      <MenuItem icon={Pencil} onSelect={() => onAction('edit')}>
        Edit
      </MenuItem>
      <MenuItem icon={Gauge} onSelect={() => onAction('limits')}>
        Limits
      </MenuItem>
      <MenuItem icon={RefreshCw} isDisabled={subject.state !== 'active'} onSelect={() => onAction('replace')}>
        Replace
      </MenuItem>
      <MenuSeparator />
      <MenuItem icon={Trash2} isDangerous onSelect={() => onAction('revoke')}>
        Revoke
      </MenuItem>
    </Menu>
  );
}
