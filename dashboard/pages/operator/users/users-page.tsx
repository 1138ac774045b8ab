/** Everyone who can sign in, and what an operator can do for them. */
import { Plus, SearchX, Users } from 'lucide-react';
import { useState } from 'react';
import type { OperatorUser, ResetLink } from '../../../../src/console/operator-contract.ts';
import { useMe } from '../../../api/session.ts';
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
import { CreateUserDialog } from './create-user-dialog.tsx';
import { LinkDialog } from './link-dialog.tsx';
import { MembershipDialog } from './membership-dialog.tsx';
import { useUsers } from './queries.ts';
import { type UserAction, userColumns } from './user-columns.tsx';
import { OperatorConfirmation, ResetLinkConfirmation, SignOutConfirmation } from './user-confirmations.tsx';

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
      description="Everyone who can sign in here, the newest first."
      actions={
        <Button variant="primary" icon={Plus} onClick={() => setDialog({ kind: 'create' })}>
          Create a user
        </Button>
      }
    >
      <Card isFlush>
        <div className="border-b border-line p-3 sm:px-5">
          <SearchInput
            label="Search users"
            placeholder="E-mail, name or ID"
            value={search}
            onSearch={setSearch}
            className="sm:max-w-xs"
          />
        </div>
        {users.data === undefined && users.isError ? (
          <FailedList error={users.error} onRetry={users.refetch} goToStart={cursors.goToStart} />
        ) : (
          <>
            <Table
              caption="Users"
              columns={userColumns(self.id, (kind, user) => setDialog({ kind, user }))}
              rows={users.data?.data}
              rowKey={({ id }) => id}
              expectedRows={6}
              isDimmed={users.isPlaceholderData}
              empty={<NothingFound isSearch={search !== ''} />}
            />
            <Pager
              cursors={cursors}
              nextCursor={users.data?.next_cursor}
              isBusy={users.isPlaceholderData}
              label="the users"
            />
          </>
        )}
      </Card>
      {dialog !== null && <UserDialog dialog={dialog} ownId={self.id} onChange={setDialog} />}
    </Page>
  );
}

function NothingFound({ isSearch }: Readonly<{ isSearch: boolean }>) {
  return isSearch ? (
    <EmptyState icon={SearchX} title="No user fits">
      Search for a part of the e-mail address or the name, or for the whole ID.
    </EmptyState>
  ) : (
    <EmptyState icon={Users} title="There is nobody on this page">
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
