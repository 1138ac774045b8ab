/** Everyone who can sign in, with the actions of an operator. */
import { Link } from '@tanstack/react-router';
import {
  Building2,
  Ellipsis,
  Link2,
  LogOut,
  Plus,
  SearchX,
  ShieldCheck,
  ShieldOff,
  Users,
} from 'lucide-react';
import { useState } from 'react';
import type { OperatorUser, ResetLink } from '../../../../src/console/operator-contract.ts';
import { useListSearch } from '../../../address.ts';
import { useMe } from '../../../api/session.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Button, IconButton } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { Time } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { Menu, MenuItem, MenuSeparator } from '../../../kit/menu.tsx';
import { Page } from '../../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../../kit/query-table.tsx';
import { SearchInput } from '../../../kit/search-input.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import { actionsColumn, type Column } from '../../../kit/table.tsx';
import { accountLink } from '../../../links.ts';
import { useUsers } from './queries.ts';
import { OperatorConfirmation, ResetLinkConfirmation, SignOutConfirmation } from './user-confirmations.tsx';
import { CreateUserDialog, LinkDialog, MembershipDialog } from './user-dialogs.tsx';

type OpenDialog =
  | Readonly<{ kind: 'create' }>
  | Readonly<{ kind: UserAction; user: OperatorUser }>
  | Readonly<{ kind: 'link'; email: string; link: ResetLink; isNew: boolean }>;

export function OperatorUsersPage() {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const [search, setSearch] = useListSearch();
  const cursors = useAddressCursors();
  const users = useUsers(search, cursors.cursor);
  const { user: self } = useMe();
  return (
    <Page
      title="Users"
      description="Everyone who can sign in, newest first."
      actions={
        <Button variant="primary" icon={Plus} onClick={() => setDialog({ kind: 'create' })}>
          New user
        </Button>
      }
    >
      <Card isFlush>
        <div className="border-b border-line pb-3">
          <SearchInput
            label="Search users"
            placeholder="E-mail, name or ID"
            value={search}
            onSearch={setSearch}
            className="sm:max-w-xs"
          />
        </div>
        <QueryTable
          query={users}
          caption="Users"
          columns={userColumns(self.id, (kind, user) => setDialog({ kind, user }))}
          rows={users.data?.data}
          rowKey={({ id }) => id}
          expectedRows={6}
          empty={<NoUsers isSearch={search !== ''} />}
          cursors={cursors}
          nextCursor={users.data?.next_cursor}
        />
      </Card>
      {dialog !== null && <UserDialog dialog={dialog} ownId={self.id} onChange={setDialog} />}
    </Page>
  );
}

function NoUsers({ isSearch }: Readonly<{ isSearch: boolean }>) {
  return isSearch ? (
    <EmptyState icon={SearchX} title="No matching users">
      Search for part of the e-mail address or name, or for the full ID.
    </EmptyState>
  ) : (
    <EmptyState icon={Users} title="No users on this page">
      Go back to the newest users, or create one.
    </EmptyState>
  );
}

type UserDialogProps = Readonly<{
  dialog: OpenDialog;
  ownId: string;
  onChange: (dialog: OpenDialog | null) => void;
}>;

function UserDialog({ dialog, ownId, onChange }: UserDialogProps) {
  const close = () => onChange(null);
  const showLink = (email: string, link: ResetLink, isNew: boolean) =>
    onChange({ kind: 'link', email, link, isNew });
  switch (dialog.kind) {
    case 'create':
      return (
        <CreateUserDialog
          onCreated={(newUser) => showLink(newUser.user.email, newUser, true)}
          onClose={close}
        />
      );
    case 'reset link':
      return (
        <ResetLinkConfirmation
          user={dialog.user}
          onMade={(link) => showLink(dialog.user.email, link, false)}
          onClose={close}
        />
      );
    case 'sign out':
      return <SignOutConfirmation user={dialog.user} isSelf={dialog.user.id === ownId} onClose={close} />;
    case 'operator':
      return <OperatorConfirmation user={dialog.user} onClose={close} />;
    case 'membership':
      return <MembershipDialog user={dialog.user} onClose={close} />;
    case 'link':
      return <LinkDialog email={dialog.email} link={dialog.link} isNew={dialog.isNew} onClose={close} />;
  }
}

type UserAction = 'reset link' | 'sign out' | 'operator' | 'membership';

function userColumns(
  ownId: string,
  onAction: (action: UserAction, user: OperatorUser) => void,
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
      isOptional: true,
      cell: ({ created_at: at }) => <Time at={at} style="date" />,
    },
    actionsColumn((user) => (
      <UserMenu user={user} isSelf={user.id === ownId} onAction={(action) => onAction(action, user)} />
    )),
  ];
}

type UserNameProps = Readonly<{ user: OperatorUser; isSelf: boolean }>;

function UserName({ user, isSelf }: UserNameProps) {
  const { email, name, email_verified: isVerified, is_operator: isOperator } = user;
  return (
    <span className="md:flex md:items-baseline md:gap-2">
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1 md:flex-nowrap">
        <span className="min-w-0 font-medium md:max-w-56 md:truncate xl:max-w-80">
          <Email address={email} />
        </span>
        {isOperator && <Badge tone="accent">Operator</Badge>}
        {!isVerified && <Badge tone="warn">Not verified</Badge>}
        {isSelf && <Badge>You</Badge>}
      </span>
      {name !== '' && <span className="block text-ink-faint md:max-w-40 md:truncate">{name}</span>}
    </span>
  );
}

function Memberships({ accounts }: Pick<OperatorUser, 'accounts'>) {
  if (accounts.length === 0) return <span className="text-ink-faint">None</span>;
  return (
    <ul className="inline-flex flex-wrap gap-x-2 md:max-w-56 xl:max-w-96">
      {accounts.map(({ id, name, role }) => (
        <li key={id} className="md:flex md:max-w-full md:gap-1">
          <Link {...accountLink(id)} title={name} className={`${textLinkClass} md:truncate`}>
            {name}
          </Link>{' '}
          <span className="text-xs text-ink-faint">{role}</span>
        </li>
      ))}
    </ul>
  );
}

type UserMenuProps = UserNameProps & Readonly<{ onAction: (action: UserAction) => void }>;

function UserMenu({ user, isSelf, onAction }: UserMenuProps) {
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${user.email}`} />}>
      <MenuItem icon={Link2} onSelect={() => onAction('reset link')}>
        Create password link
      </MenuItem>
      <MenuItem icon={Building2} onSelect={() => onAction('membership')}>
        Add to account
      </MenuItem>
      {!isSelf && (
        <MenuItem icon={user.is_operator ? ShieldOff : ShieldCheck} onSelect={() => onAction('operator')}>
          {user.is_operator ? 'Remove as operator' : 'Make operator'}
        </MenuItem>
      )}
      <MenuSeparator />
      <MenuItem icon={LogOut} isDangerous onSelect={() => onAction('sign out')}>
        Sign out everywhere
      </MenuItem>
    </Menu>
  );
}

/** An e-mail address that breaks lines after the @ and after dots only. */
function Email({ address }: Readonly<{ address: string }>) {
  return (
    <span className="wrap-break-word">
      {address.split(/(?<=[@.])/).map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one address never move.
        <span key={at}>
          {at > 0 && <wbr />}
          {part}
        </span>
      ))}
    </span>
  );
}
