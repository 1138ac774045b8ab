/** All accounts of the gateway, with their balances. */
import { Link } from '@tanstack/react-router';
import { Ban, Building2, CirclePlay, Ellipsis, Plus, SearchX, Tag, UserPlus, Wallet } from 'lucide-react';
import { useState } from 'react';
import type { NewUser, OperatorAccount } from '../../../../src/console/operator-contract.ts';
import { useListSearch } from '../../../address.ts';
import { Badge, StatusBadge } from '../../../kit/badge.tsx';
import { Button, IconButton } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { classNames, nameLinkClass } from '../../../kit/class-names.ts';
import { ShortId } from '../../../kit/copy-button.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { Menu, MenuItem, MenuSeparator } from '../../../kit/menu.tsx';
import { Page } from '../../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../../kit/query-table.tsx';
import { SearchInput } from '../../../kit/search-input.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import { actionsColumn, type Column, moneyColumn } from '../../../kit/table.tsx';
import { OperatorExportButton } from '../../exports/export-button.tsx';
import { CreateUserDialog, LinkDialog } from '../users/user-dialogs.tsx';
import { CreateAccountDialog, CreditDialog, SuspensionDialog } from './account-dialogs.tsx';
import { PriceGroupDialog } from './price-group-dialog.tsx';
import { useAccounts } from './queries.ts';

type OpenDialog =
  | Readonly<{ kind: 'create' }>
  | Readonly<{ kind: AccountAction; account: OperatorAccount }>
  | Readonly<{ kind: 'link'; newUser: NewUser }>;

export function OperatorAccountsPage() {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const create = () => setDialog({ kind: 'create' });
  return (
    <Page
      title="Accounts"
      description="All customers of this gateway, newest first."
      actions={
        <>
          <OperatorExportButton name="generations" />
          <Button variant="primary" icon={Plus} onClick={create}>
            New account
          </Button>
        </>
      }
    >
      <AccountList onCreate={create} onAction={(kind, account) => setDialog({ kind, account })} />
      {dialog !== null && <AccountDialog dialog={dialog} onChange={setDialog} />}
    </Page>
  );
}

type AccountListProps = Readonly<{
  onCreate: () => void;
  onAction: (action: AccountAction, account: OperatorAccount) => void;
}>;

function AccountList({ onCreate, onAction }: AccountListProps) {
  const [search, setSearch] = useListSearch();
  const cursors = useAddressCursors();
  const accounts = useAccounts(search, cursors.cursor);
  return (
    <Card isFlush>
      <div className="border-b border-line pb-3">
        <SearchInput
          label="Search accounts"
          placeholder="Name or ID"
          value={search}
          onSearch={setSearch}
          className="sm:max-w-xs"
        />
      </div>
      <QueryTable
        query={accounts}
        caption="Accounts"
        columns={accountColumns(onAction)}
        rows={accounts.data?.data}
        rowKey={({ id }) => id}
        expectedRows={6}
        empty={search === '' ? <NoAccounts onCreate={onCreate} /> : <NoMatches />}
        cursors={cursors}
        nextCursor={accounts.data?.next_cursor}
      />
    </Card>
  );
}

function NoAccounts({ onCreate }: Readonly<{ onCreate: () => void }>) {
  return (
    <EmptyState
      icon={Building2}
      title="No accounts yet"
      action={
        <Button variant="primary" icon={Plus} onClick={onCreate}>
          New account
        </Button>
      }
    >
      Create one for your first customer, add credit, and add its users.
    </EmptyState>
  );
}

function NoMatches() {
  return (
    <EmptyState icon={SearchX} title="No matching accounts">
      Search for part of the name or for the full ID.
    </EmptyState>
  );
}

type AccountDialogProps = Readonly<{ dialog: OpenDialog; onChange: (dialog: OpenDialog | null) => void }>;

function AccountDialog({ dialog, onChange }: AccountDialogProps) {
  const close = () => onChange(null);
  switch (dialog.kind) {
    case 'create':
      return <CreateAccountDialog onCreated={close} onClose={close} />;
    case 'credit':
      return <CreditDialog account={dialog.account} onClose={close} />;
    case 'prices':
      return <PriceGroupDialog account={dialog.account} onClose={close} />;
    case 'suspend':
    case 'resume':
      return <SuspensionDialog account={dialog.account} action={dialog.kind} onClose={close} />;
    case 'add user':
      return (
        <CreateUserDialog
          account={dialog.account}
          onCreated={(newUser) => onChange({ kind: 'link', newUser })}
          onClose={close}
        />
      );
    case 'link':
      return <LinkDialog email={dialog.newUser.user.email} link={dialog.newUser} isNew onClose={close} />;
  }
}

type AccountAction = 'credit' | 'prices' | 'add user' | 'suspend' | 'resume';

function accountColumns(
  onAction: (action: AccountAction, account: OperatorAccount) => void,
): readonly Column<OperatorAccount>[] {
  return [
    {
      key: 'name',
      header: 'Account',
      isBare: true,
      cell: (account) => <AccountName account={account} />,
    },
    {
      key: 'state',
      header: 'Status',
      cell: ({ is_suspended: isSuspended, price_group: group }) => (
        <span className="inline-flex flex-wrap items-center gap-1">
          <StatusBadge status={isSuspended ? 'suspended' : 'active'} />
          {group !== null && <Badge>{group}</Badge>}
        </span>
      ),
    },
    moneyColumn({
      key: 'balance',
      header: 'Balance',
      amountOf: ({ balance }) => balance,
      style: 'balance',
      className: 'font-medium',
    }),
    {
      ...moneyColumn<OperatorAccount>({
        key: 'held',
        header: 'Held',
        amountOf: ({ held }) => held,
        style: 'total',
      }),
      isWide: true,
    },
    moneyColumn({
      key: 'spent',
      header: 'Spent this month',
      amountOf: ({ month_spent: spent }) => spent,
      style: 'total',
    }),
    {
      key: 'keys',
      header: 'Keys',
      align: 'right',
      isWide: true,
      cell: ({ keys_in_force: count }) => <span title="Active keys">{formatCount(count)}</span>,
    },
    {
      key: 'members',
      header: 'Members',
      align: 'right',
      isWide: true,
      cell: ({ members }) => formatCount(members),
    },
    actionsColumn((account) => (
      <AccountMenu account={account} onAction={(action) => onAction(action, account)} />
    )),
  ];
}

function AccountName({ account: { id, name } }: Readonly<{ account: OperatorAccount }>) {
  return (
    <span className="flex flex-wrap items-center gap-x-2 md:flex-nowrap">
      <Link
        to="/operator/accounts/$id"
        params={{ id }}
        className={classNames(nameLinkClass, 'md:max-w-full md:shrink-0 md:truncate')}
      >
        {name}
      </Link>
      {/* It gives way to a long name. */}
      <span className="md:min-w-0 md:overflow-hidden">
        <ShortId id={id} label={`Copy ID of ${name}`} />
      </span>
    </span>
  );
}

type AccountMenuProps = Readonly<{ account: OperatorAccount; onAction: (action: AccountAction) => void }>;

function AccountMenu({ account, onAction }: AccountMenuProps) {
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${account.name}`} />}>
      <MenuItem icon={Wallet} onSelect={() => onAction('credit')}>
        Add credit
      </MenuItem>
      <MenuItem icon={Tag} onSelect={() => onAction('prices')}>
        Prices
      </MenuItem>
      <MenuItem icon={UserPlus} onSelect={() => onAction('add user')}>
        Add user
      </MenuItem>
      <MenuSeparator />
      {account.is_suspended ? (
        <MenuItem icon={CirclePlay} onSelect={() => onAction('resume')}>
          Resume
        </MenuItem>
      ) : (
        <MenuItem icon={Ban} isDangerous onSelect={() => onAction('suspend')}>
          Suspend
        </MenuItem>
      )}
    </Menu>
  );
}
