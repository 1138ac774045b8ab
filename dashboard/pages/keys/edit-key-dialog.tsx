import { useState } from 'react';
import type { Key } from '../../../src/console/contract.ts';
import { FormDialog } from '../../kit/form-dialog.tsx';
import { showToast } from '../../kit/toast.tsx';
import { KeyFields } from './key-fields.tsx';
import { changesOf, formOfKey } from './key-form-state.ts';
import { useChangeKey } from './queries.ts';
import { useKeyForm } from './use-key-form.ts';

type EditKeyDialogProps = Readonly<{ subject: Key; onClose: () => void }>;

export function EditKeyDialog({ subject, onClose }: EditKeyDialogProps) {
  // As it was when the dialog opened, whatever is fetched meanwhile.
  const [before] = useState(() => formOfKey(subject));
  const changing = useChangeKey(subject.id);
  const { form, setForm, shownProblems, otherError, submit } = useKeyForm(before, changing.error);
  const save = () =>
    changing.mutate(changesOf(before, form, new Date()), {
      onSuccess: ({ name }) => {
        showToast('good', `The key “${name}” is changed.`);
        onClose();
      },
    });
  return (
    <FormDialog
      title={`Change ${subject.name}`}
      description="Changes take effect within seconds. The secret stays the same."
      submitLabel="Save"
      isBusy={changing.isPending}
      error={otherError}
      onClose={onClose}
      onSubmit={() => submit(save)}
    >
      <KeyFields form={form} onChange={setForm} problems={shownProblems} />
    </FormDialog>
  );
}
