/** The keys of the account. Owners create, edit, replace and revoke them; members can only view them. */
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Key, NewKey } from '../../../src/console/contract.ts';
import { useSearchValue } from '../../address.ts';
import { useAccount } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { Switch } from '../../kit/choice.tsx';
import { Page } from '../../kit/page.tsx';
import { QueryTable } from '../../kit/query-table.tsx';
import { EmptyState } from '../../kit/states.tsx';
import { useMembers } from '../team/queries.ts';
import { type KeyAction, keyColumns } from './key-columns.tsx';
import { CreateKeyDialog, EditKeyDialog, ReplaceKeyDialog, RevokeKeyDialog } from './key-dialogs.tsx';
import { useKeys } from './queries.ts';
import { SecretDialog } from './secret-dialog.tsx';

type OpenDialog =
  | Readonly<{ kind: 'create' }>
  | Readonly<{ kind: KeyAction; subject: Key }>
  | Readonly<{ kind: 'secret'; newKey: NewKey }>;

export function KeysPage() {
  const isOwner = useAccount().role === 'owner';
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const create = () => setDialog({ kind: 'create' });
  return (
    <Page
      title="Keys"
      description="Programs use a key to call the API. Each key has its own limits, and its secret is shown only once."
      actions={
        isOwner ? (
          <Button variant="primary" icon={Plus} onClick={create}>
            New key
          </Button>
        ) : undefined
      }
    >
      {!isOwner && <OwnersNote />}
      <KeyList
        onCreate={isOwner ? create : undefined}
        onAction={isOwner ? (kind, subject) => setDialog({ kind, subject }) : undefined}
      />
      {dialog !== null && <KeyDialog dialog={dialog} onChange={setDialog} />}
    </Page>
  );
}

/** The API lists no more revoked and expired keys than this. */
const maxInactiveKeys = 200;

/** Members get no actions. */
type KeyListProps = Readonly<{
  onCreate: (() => void) | undefined;
  onAction: ((action: KeyAction, key: Key) => void) | undefined;
}>;

function KeyList({ onCreate, onAction }: KeyListProps) {
  const [revoked, setRevoked] = useSearchValue('revoked', 'hidden');
  const keys = useKeys();
  const all = keys.data?.data;
  const shown = revoked === 'shown' ? all : all?.filter(({ state }) => state !== 'revoked');
  const revokedCount = all?.filter(({ state }) => state === 'revoked').length ?? 0;
  const inactiveCount = all?.filter(({ state }) => state === 'revoked' || state === 'expired').length ?? 0;
  return (
    <Card
      title="All keys"
      description={
        inactiveCount < maxInactiveKeys
          ? undefined
          : `Only the newest ${maxInactiveKeys} revoked and expired keys are shown.`
      }
      isFlush
      actions={
        <Switch
          label={`Show revoked${revokedCount === 0 ? '' : ` (${revokedCount})`}`}
          isChecked={revoked === 'shown'}
          onChange={(isChecked) => setRevoked(isChecked ? 'shown' : 'hidden')}
        />
      }
    >
      <QueryTable
        query={keys}
        errorTitle="The keys could not be loaded"
        caption="Keys of this account"
        columns={keyColumns(onAction)}
        rows={shown}
        rowKey={({ id }) => id}
        expectedRows={3}
        empty={<NoKeys hasRevoked={revokedCount > 0} onCreate={onCreate} />}
      />
    </Card>
  );
}

function NoKeys({
  hasRevoked,
  onCreate,
}: Pick<KeyListProps, 'onCreate'> & Readonly<{ hasRevoked: boolean }>) {
  return (
    <EmptyState
      icon={KeyRound}
      title={hasRevoked ? 'No active keys' : 'No keys yet'}
      action={
        onCreate === undefined ? undefined : (
          <Button variant="primary" icon={Plus} onClick={onCreate}>
            New key
          </Button>
        )
      }
    >
      {onCreate === undefined
        ? 'An owner of this account can create one.'
        : 'Create a key and use it in your program to call the API.'}
    </EmptyState>
  );
}

/** Explains why there are no buttons, and who can help. */
function OwnersNote() {
  const members = useMembers();
  const owners = members.data?.data.filter(({ role }) => role === 'owner').map(({ email }) => email) ?? [];
  return (
    <Callout title="You can view the keys, but not change them">
      You are a member of this account. Only owners can create, edit, replace and revoke keys
      {owners.length === 0 ? '.' : `. Ask ${owners.join(' or ')}.`}
    </Callout>
  );
}

type KeyDialogProps = Readonly<{ dialog: OpenDialog; onChange: (dialog: OpenDialog | null) => void }>;

function KeyDialog({ dialog, onChange }: KeyDialogProps) {
  const close = () => onChange(null);
  const showSecret = (newKey: NewKey) => onChange({ kind: 'secret', newKey });
  switch (dialog.kind) {
    case 'create':
      return <CreateKeyDialog onCreated={showSecret} onClose={close} />;
    case 'edit':
      return <EditKeyDialog subject={dialog.subject} onClose={close} />;
    case 'replace':
      return <ReplaceKeyDialog subject={dialog.subject} onReplaced={showSecret} onClose={close} />;
    case 'revoke':
      return <RevokeKeyDialog subject={dialog.subject} onClose={close} />;
    case 'secret':
      return <SecretDialog newKey={dialog.newKey} onClose={close} />;
  }
}
