import { Ellipsis, Pencil, Trash2 } from 'lucide-react';
import type { Limit } from '../../../src/console/contract.ts';
import { signOfMoney } from '../../kit/amounts.ts';
import { Badge } from '../../kit/badge.tsx';
import { IconButton } from '../../kit/button.tsx';
import { Time } from '../../kit/figures.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../kit/menu.tsx';
import { actionsColumn, type Column } from '../../kit/table.tsx';
import { UseOfLimit } from '../../kit/use-of-limit.tsx';
import { amountNow, formatAmount, formatUse, kindNames, nameOf, sharesOf, subjectOf } from './limit-words.ts';

export type LimitAction = 'change' | 'remove';

/** `mayChange` says which of them the viewer can change. */
export function limitColumns(
  mayChange: (limit: Limit) => boolean,
  onAction: (action: LimitAction, limit: Limit) => void,
): readonly Column<Limit>[] {
  return [
    { key: 'name', header: 'Limit', isBare: true, cell: (limit) => <LimitName limit={limit} /> },
    { key: 'used', header: 'Used', isWrapping: true, cell: (limit) => <LimitUse limit={limit} /> },
    { key: 'resets', header: 'Resets', cell: (limit) => <Resets limit={limit} /> },
    {
      key: 'setter',
      isOptional: true,
      header: 'Set by',
      cell: ({ set_by: setter }) => (
        <Badge tone={setter === 'operator' ? 'accent' : 'plain'}>
          {setter === 'operator' ? 'Operator' : 'Owners'}
        </Badge>
      ),
    },
    actionsColumn((limit) =>
      mayChange(limit) ? <LimitMenu limit={limit} onAction={(action) => onAction(action, limit)} /> : null,
    ),
  ];
}

function LimitName({ limit }: Readonly<{ limit: Limit }>) {
  const subject = subjectOf(limit);
  return (
    <span className="md:inline-flex md:max-w-full md:items-baseline md:gap-2">
      <span className="block font-medium whitespace-nowrap">{kindNames[limit.kind]}</span>
      <span className="line-clamp-2 wrap-anywhere text-ink-faint md:max-w-72 md:truncate" title={subject}>
        {subject.charAt(0).toUpperCase() + subject.slice(1)}
      </span>
    </span>
  );
}

function LimitUse({ limit }: Readonly<{ limit: Limit }>) {
  const { kind } = limit;
  const most = formatAmount(kind, amountNow(limit));
  const shares = sharesOf(limit);
  if (shares === null)
    return (
      <span className="block">
        <span className="figures">{most}</span> <span className="text-ink-faint">for each of them</span>
        <CountedSince limit={limit} />
        <Increase limit={limit} />
      </span>
    );
  const { used, held, share, certainShare } = shares;
  const hasUsed = kind !== 'concurrent_requests';
  return (
    <UseOfLimit
      label={`Used of ${nameOf(limit)}`}
      share={share}
      certainShare={hasUsed ? certainShare : share}
      figures={
        <>
          <span className="figures">{formatUse(limit, hasUsed ? used : held)}</span>{' '}
          <span className="figures text-ink-faint">of {most}</span>
        </>
      }
    >
      {hasUsed && signOfMoney(held) > 0 && (
        <span className="text-ink-faint">plus {formatUse(limit, held)} held</span>
      )}
      <CountedSince limit={limit} />
      <Increase limit={limit} />
    </UseOfLimit>
  );
}

/** Otherwise less would be used than the requests of the period cost, for no visible reason. */
function CountedSince({ limit: { counted_since: at } }: Readonly<{ limit: Limit }>) {
  if (at === null) return null;
  return (
    <span className="text-ink-faint">
      {' '}
      counted since <Time at={at} style="minute" />
    </span>
  );
}

function Increase({ limit: { kind, increase } }: Readonly<{ limit: Limit }>) {
  if (increase === null) return null;
  return (
    <span className="text-ink-faint">
      with {formatAmount(kind, increase.amount)} more until <Time at={increase.until} />
    </span>
  );
}

function Resets({ limit: { kind, resets_at: at } }: Readonly<{ limit: Limit }>) {
  if (at === null) return <span className="text-ink-soft">When requests end</span>;
  return kind.endsWith('minute') ? (
    <span className="whitespace-nowrap text-ink-soft">Every minute</span>
  ) : (
    <Time at={at} style="distance" />
  );
}

type LimitMenuProps = Readonly<{ limit: Limit; onAction: (action: LimitAction) => void }>;

function LimitMenu({ limit, onAction }: LimitMenuProps) {
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${nameOf(limit)}`} />}>
      <MenuItem icon={Pencil} onSelect={() => onAction('change')}>
        Change
      </MenuItem>
      <MenuSeparator />
      <MenuItem icon={Trash2} isDangerous onSelect={() => onAction('remove')}>
        Remove
      </MenuItem>
    </Menu>
  );
}
