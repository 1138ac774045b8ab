/** Every account of the gateway: its money, and whether it may use it. */
import { Ban, Building2, CirclePlay, Ellipsis, Plus, SearchX, UserPlus, Wallet } from 'lucide-react';
import { useState } from 'react';
import type { NewUser, OperatorAccount } from '../../../../src/console/operator-contract.ts';
import { useListSearch } from '../../../address.ts';
import { StatusBadge } from '../../../kit/badge.tsx';
import { Button, IconButton } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { ShortId } from '../../../kit/copy-button.tsx';
import { Money } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { Menu, MenuItem, MenuSeparator } from '../../../kit/menu.tsx';
import { Page } from '../../../kit/page.tsx';
import { Pager, useAddressCursors } from '../../../kit/pager.tsx';
import { SearchInput } from '../../../kit/search-input.tsx';
import { EmptyState, FailedList } from '../../../kit/states.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { CreateUserDialog, LinkDialog } from '../users/user-dialogs.tsx';
import { CreateAccountDialog, CreditDialog, SuspensionDialog } from './account-dialogs.tsx';
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
      description="Every customer of this gateway, the newest first."
      actions={
        <Button variant="primary" icon={Plus} onClick={create}>
          Create an account
        </Button>
      }
    >
      <AccountList onCreate={create} onAct={(kind, account) => setDialog({ kind, account })} />
      {dialog !== null && <AccountDialog dialog={dialog} onChange={setDialog} />}
    </Page>
  );
}

type AccountListProps = Readonly<{
  onCreate: () => void;
  onAct: (action: AccountAction, account: OperatorAccount) => void;
}>;

function AccountList({ onCreate, onAct }: AccountListProps) {
  const [search, setSearch] = useListSearch();
  const cursors = useAddressCursors();
  const accounts = useAccounts(search, cursors.cursor);
  return (
    <Card isFlush>
      <div className="border-b border-line p-3 sm:px-5">
        <SearchInput
          label="Search accounts"
          placeholder="Name or ID"
          value={search}
          onSearch={setSearch}
          className="sm:max-w-xs"
        />
      </div>
      {accounts.data === undefined && accounts.isError ? (
        <FailedList error={accounts.error} onRetry={accounts.refetch} goToStart={cursors.goToStart} />
      ) : (
        <>
          <Table
            caption="Accounts"
            columns={accountColumns(onAct)}
            rows={accounts.data?.data}
            rowKey={({ id }) => id}
            expectedRows={6}
            isDimmed={accounts.isPlaceholderData}
            empty={search === '' ? <NoAccounts onCreate={onCreate} /> : <NothingFound />}
          />
          <Pager
            cursors={cursors}
            nextCursor={accounts.data?.next_cursor}
            isBusy={accounts.isPlaceholderData}
            label="the accounts"
          />
        </>
      )}
    </Card>
  );
}

function NoAccounts({ onCreate }: Readonly<{ onCreate: () => void }>) {
  return (
    <EmptyState
      icon={Building2}
      title="There is no account yet"
      action={
        <Button variant="primary" icon={Plus} onClick={onCreate}>
          Create an account
        </Button>
      }
    >
      Create one for your first customer, give it credit, and add the people who use it.
    </EmptyState>
  );
}

function NothingFound() {
  return (
    <EmptyState icon={SearchX} title="No account fits">
      Search for a part of its name, or for its whole ID.
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

/** What the table says of each account. */
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
