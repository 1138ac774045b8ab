/** Ends a key at once. Its name has to be written, because a wrong key would stop a program that works. */
import { useState } from 'react';
import type { Key } from '../../../src/console/contract.ts';
import { Field } from '../../kit/field.tsx';
import { FormDialog } from '../../kit/form-dialog.tsx';
import { Input } from '../../kit/input.tsx';
import { showToast } from '../../kit/toast.tsx';
import { useRevokeKey } from './queries.ts';

type RevokeKeyDialogProps = Readonly<{ subject: Key; onClose: () => void }>;

export function RevokeKeyDialog({ subject, onClose }: RevokeKeyDialogProps) {
  const [written, setWritten] = useState('');
  const revoking = useRevokeKey(subject.id);
  const isConfirmed = written.trim() === subject.name;
  const revoke = () => {
    if (!isConfirmed) return;
    revoking.mutate(
      {},
      {
        onSuccess: () => {
          showToast('good', `The key “${subject.name}” is revoked.`);
          onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title={`Revoke ${subject.name}?`}
      submitLabel="Revoke the key"
      isDangerous
      width="narrow"
      isReady={isConfirmed}
      isBusy={revoking.isPending}
      error={revoking.error}
      onSubmit={revoke}
      onClose={onClose}
    >
      <p className="text-ink-soft">
        Programs that use the key <code className="font-mono wrap-anywhere">{subject.hint}</code> are refused
        from now on. This cannot be undone. To move to a new key without a gap, replace it instead.
      </p>
      <Field
        label={
          <>
            Write <strong className="font-semibold wrap-anywhere">{subject.name}</strong> to confirm
          </>
        }
      >
        <Input
          value={written}
          autoFocus
          autoComplete="off"
          onChange={(event) => setWritten(event.target.value)}
        />
      </Field>
    </FormDialog>
  );
}
