/** Which dialog about a key is open, on the list and on the page of the key. */
import type { Key, NewKey } from '../../../src/console/contract.ts';
import type { KeyAction } from './key-columns.tsx';
import { CreateKeyDialog, EditKeyDialog, ReplaceKeyDialog, RevokeKeyDialog } from './key-dialogs.tsx';
import { SecretDialog } from './secret-dialog.tsx';

export type OpenDialog =
  | Readonly<{ kind: 'create' }>
  | Readonly<{ kind: Exclude<KeyAction, 'limits'>; subject: Key }>
  | Readonly<{ kind: 'secret'; newKey: NewKey }>;

type KeyDialogProps = Readonly<{ dialog: OpenDialog; onChange: (dialog: OpenDialog | null) => void }>;

export function KeyDialog({ dialog, onChange }: KeyDialogProps) {
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
