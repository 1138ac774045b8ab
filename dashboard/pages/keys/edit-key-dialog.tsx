import { useState } from 'react';
import type { Key } from '../../../src/console/contract.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { FormProblem } from '../../kit/form-problem.tsx';
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
    <Dialog
      title={`Change ${subject.name}`}
      description="Changes take effect within seconds. The secret stays the same."
      onClose={onClose}
      onSubmit={() => submit(save)}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" isBusy={changing.isPending}>
            Save
          </Button>
        </>
      }
    >
      <KeyFields form={form} onChange={setForm} problems={shownProblems} />
      <FormProblem error={otherError} />
    </Dialog>
  );
}
