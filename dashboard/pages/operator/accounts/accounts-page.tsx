/** Every account of the gateway: its money, and whether it may use it. */
import { Building2, Plus, SearchX } from 'lucide-react';
import { useState } from 'react';
import type { NewUser, OperatorAccount } from '../../../../src/console/operator-contract.ts';
import { Button } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { EmptyState } from '../../../kit/empty-state.tsx';
import { FailedList } from '../../../kit/failed-list.tsx';
import { Page } from '../../../kit/page.tsx';
import { Pager } from '../../../kit/pager.tsx';
import { SearchInput } from '../../../kit/search-input.tsx';
import { Table } from '../../../kit/table.tsx';
import { useAddressCursors } from '../../../kit/use-address-cursors.ts';
import { useListSearch } from '../use-list-search.ts';
import { CreateUserDialog } from '../users/create-user-dialog.tsx';
import { LinkDialog } from '../users/link-dialog.tsx';
import { type AccountAction, accountColumns } from './account-columns.tsx';
import { CreateAccountDialog } from './create-account-dialog.tsx';
import { CreditDialog } from './credit-dialog.tsx';
import { useAccounts } from './queries.ts';
import { SuspensionDialog } from './suspension-dialog.tsx';

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
