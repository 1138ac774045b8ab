/** The keys of the account. Owners make, change, replace and revoke them; members see them. */
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
import { EmptyState, ErrorState } from '../../kit/states.tsx';
import { Table } from '../../kit/table.tsx';
import { type KeyAction, keyColumns } from './key-columns.tsx';
import { CreateKeyDialog, EditKeyDialog, ReplaceKeyDialog, RevokeKeyDialog } from './key-dialogs.tsx';
import { useKeys, useMembers } from './queries.ts';
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
      description="Programs call the API with a key. Each has limits of its own, and is shown once when it is made."
      actions={
        isOwner ? (
          <Button variant="primary" icon={Plus} onClick={create}>
            Create a key
          </Button>
        ) : undefined
      }
    >
      {!isOwner && <OwnersNote />}
      <KeyList
        {...(isOwner
          ? { onCreate: create, onAct: (kind: KeyAction, subject: Key) => setDialog({ kind, subject }) }
          : {})}
      />
      {dialog !== null && <KeyDialog dialog={dialog} onChange={setDialog} />}
    </Page>
  );
}

/** As many as the list has of them. */
const mostEndedKeys = 200;
const onlyNewest = `Of the keys that were revoked or have expired, these are the newest ${mostEndedKeys}.`;

type KeyListProps = Readonly<{ onCreate?: () => void; onAct?: (action: KeyAction, key: Key) => void }>;

function KeyList({ onCreate, onAct }: KeyListProps) {
  const [revoked, setRevoked] = useSearchValue('revoked', 'hidden');
  const keys = useKeys();
  const all = keys.data?.data;
  const shown = revoked === 'shown' ? all : all?.filter(({ state }) => state !== 'revoked');
  const revokedCount = all?.filter(({ state }) => state === 'revoked').length ?? 0;
  const endedCount = all?.filter(({ state }) => state === 'revoked' || state === 'expired').length ?? 0;
  return (
    <Card
      title="All keys"
      {...(endedCount < mostEndedKeys ? {} : { description: onlyNewest })}
      isFlush
      actions={
        <Switch
          label={`Show revoked${revokedCount === 0 ? '' : ` (${revokedCount})`}`}
          isChecked={revoked === 'shown'}
          onChange={(isChecked) => setRevoked(isChecked ? 'shown' : 'hidden')}
        />
      }
    >
      {all === undefined && keys.isError ? (
        <ErrorState error={keys.error} title="The keys could not be loaded" onRetry={keys.refetch} />
      ) : (
        <Table
          caption="Keys of this account"
          columns={keyColumns(onAct)}
          rows={shown}
          rowKey={({ id }) => id}
          expectedRows={3}
          empty={<NoKeys hasRevoked={revokedCount > 0} {...(onCreate === undefined ? {} : { onCreate })} />}
        />
      )}
    </Card>
  );
}

function NoKeys({ hasRevoked, onCreate }: Readonly<{ hasRevoked: boolean; onCreate?: () => void }>) {
  return (
    <EmptyState
      icon={KeyRound}
      title={hasRevoked ? 'No key is in force' : 'There is no key yet'}
      action={
        onCreate === undefined ? undefined : (
          <Button variant="primary" icon={Plus} onClick={onCreate}>
            Create a key
          </Button>
        )
      }
    >
      {onCreate === undefined
        ? 'An owner of this account can create one.'
        : 'Create one, give it to your program, and its requests appear here.'}
    </EmptyState>
  );
}

/** Says why there are no buttons, and whom to ask. */
function OwnersNote() {
  const members = useMembers(true);
  const owners = members.data?.data.filter(({ role }) => role === 'owner').map(({ email }) => email) ?? [];
  return (
    <Callout title="You can see the keys, but not change them">
      You are a member of this account. Only an owner creates, changes, replaces and revokes its keys
      {owners.length === 0 ? '.' : `: ask ${owners.join(' or ')}.`}
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
