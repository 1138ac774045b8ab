/** What the table says of each account. */
import { Ban, CirclePlay, Ellipsis, UserPlus, Wallet } from 'lucide-react';
import type { OperatorAccount } from '../../../../src/console/operator-contract.ts';
import { StatusBadge } from '../../../kit/badge.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { IconButton } from '../../../kit/icon-button.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../../kit/menu.tsx';
import { Money } from '../../../kit/money.tsx';
import type { Column } from '../../../kit/table.tsx';
import { ShortId } from '../short-id.tsx';

export type AccountAction = 'credit' | 'add user' | 'suspend' | 'resume';

export function accountColumns(
  onAct: (action: AccountAction, account: OperatorAccount) => void,
): readonly Column<OperatorAccount>[] {
  return [
    {
      key: 'name',
      header: 'Account',
      isBare: true,
      cell: ({ id, name }) => (
        <span className="block">
          <span className="block font-medium">{name}</span>
          <ShortId id={id} label={`Copy the ID of ${name}`} />
        </span>
      ),
    },
    {
      key: 'state',
      header: 'State',
      cell: ({ is_suspended: isSuspended }) => <StatusBadge status={isSuspended ? 'suspended' : 'active'} />,
    },
    {
      key: 'balance',
      header: 'Balance',
      align: 'right',
      cell: ({ balance }) => <Money amount={balance} isBalance className="font-medium" />,
    },
    { key: 'held', header: 'Held', align: 'right', cell: ({ held }) => <Money amount={held} /> },
    {
      key: 'spent',
      header: 'Spent this month',
      align: 'right',
      cell: ({ month_spent: spent }) => <Money amount={spent} />,
    },
    {
      key: 'keys',
      header: 'Keys',
      align: 'right',
      cell: ({ keys_in_force: count }) => <span title="Keys in force">{formatCount(count)}</span>,
    },
    { key: 'members', header: 'Members', align: 'right', cell: ({ members }) => formatCount(members) },
    {
      key: 'actions',
      header: <span className="sr-only">Actions</span>,
      align: 'right',
      isCorner: true,
      width: 'w-14',
      cell: (account) => <AccountMenu account={account} onAct={(action) => onAct(action, account)} />,
    },
  ];
}

type AccountMenuProps = Readonly<{ account: OperatorAccount; onAct: (action: AccountAction) => void }>;

function AccountMenu({ account, onAct }: AccountMenuProps) {
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${account.name}`} />}>
      <MenuItem icon={Wallet} onSelect={() => onAct('credit')}>
        Add credit
      </MenuItem>
      <MenuItem icon={UserPlus} onSelect={() => onAct('add user')}>
        Add a user
      </MenuItem>
      <MenuSeparator />
      {account.is_suspended ? (
        <MenuItem icon={CirclePlay} onSelect={() => onAct('resume')}>
          Resume
        </MenuItem>
      ) : (
        <MenuItem icon={Ban} isDangerous onSelect={() => onAct('suspend')}>
          Suspend
        </MenuItem>
      )}
    </Menu>
  );
}
