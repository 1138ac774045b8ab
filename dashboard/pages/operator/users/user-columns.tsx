/** What the table says of each user. */
import { Link } from '@tanstack/react-router';
import { Building2, Ellipsis, Link2, LogOut, ShieldCheck, ShieldOff } from 'lucide-react';
import type { OperatorUser } from '../../../../src/console/operator-contract.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Email } from '../../../kit/email.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { IconButton } from '../../../kit/icon-button.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../../kit/menu.tsx';
import type { Column } from '../../../kit/table.tsx';
import { textLinkClass } from '../../../kit/text-link.ts';
import { Time } from '../../../kit/time.tsx';

export type UserAction = 'reset link' | 'sign out' | 'operator' | 'membership';

export function userColumns(
  ownId: string,
  onAct: (action: UserAction, user: OperatorUser) => void,
): readonly Column<OperatorUser>[] {
  return [
    {
      key: 'email',
      header: 'User',
      isBare: true,
      cell: (user) => <UserName user={user} isSelf={user.id === ownId} />,
    },
    { key: 'accounts', header: 'Accounts', cell: ({ accounts }) => <Memberships accounts={accounts} /> },
    {
      key: 'sessions',
      header: 'Sessions',
      align: 'right',
      cell: ({ sessions }) => formatCount(sessions),
    },
    {
      key: 'signed-in',
      header: 'Last sign-in',
      cell: ({ last_signed_in_at: at }) => <Time at={at} style="distance" otherwise="Never" />,
    },
    {
      key: 'created',
      header: 'Created',
      cell: ({ created_at: at }) => <Time at={at} style="date" />,
    },
    {
      key: 'actions',
      header: <span className="sr-only">Actions</span>,
      align: 'right',
      isCorner: true,
      width: 'w-14',
      cell: (user) => (
        <UserMenu user={user} isSelf={user.id === ownId} onAct={(action) => onAct(action, user)} />
      ),
    },
  ];
}

type UserNameProps = Readonly<{ user: OperatorUser; isSelf: boolean }>;

function UserName({ user, isSelf }: UserNameProps) {
  const { email, name, email_verified: isVerified, is_operator: isOperator } = user;
  return (
    <span className="block">
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="min-w-0 font-medium">
          <Email address={email} />
        </span>
        {isOperator && <Badge tone="accent">Operator</Badge>}
        {!isVerified && <Badge tone="warn">Not verified</Badge>}
        {isSelf && <Badge>You</Badge>}
      </span>
      {name !== '' && <span className="block text-xs text-ink-faint">{name}</span>}
    </span>
  );
}

function Memberships({ accounts }: Pick<OperatorUser, 'accounts'>) {
  if (accounts.length === 0) return <span className="text-ink-faint">None</span>;
  return (
    <ul className="space-y-0.5">
      {accounts.map(({ id, name, role }) => (
        <li key={id}>
          <Link to="/operator/accounts" search={{ search: id }} className={textLinkClass}>
            {name}
          </Link>{' '}
          <span className="text-xs text-ink-faint">{role}</span>
        </li>
      ))}
    </ul>
  );
}

type UserMenuProps = UserNameProps & Readonly<{ onAct: (action: UserAction) => void }>;

function UserMenu({ user, isSelf, onAct }: UserMenuProps) {
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${user.email}`} />}>
      <MenuItem icon={Link2} onSelect={() => onAct('reset link')}>
        Make a password link
      </MenuItem>
      <MenuItem icon={Building2} onSelect={() => onAct('membership')}>
        Add to an account
      </MenuItem>
      {!isSelf && (
        <MenuItem icon={user.is_operator ? ShieldOff : ShieldCheck} onSelect={() => onAct('operator')}>
          {user.is_operator ? 'Remove as operator' : 'Make an operator'}
        </MenuItem>
      )}
      <MenuSeparator />
      <MenuItem icon={LogOut} isDangerous onSelect={() => onAct('sign out')}>
        Sign out everywhere
      </MenuItem>
    </Menu>
  );
}
