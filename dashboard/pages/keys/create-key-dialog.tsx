import type { NewKey } from '../../../src/console/contract.ts';
import { FormDialog } from '../../kit/form-dialog.tsx';
import { KeyFields } from './key-fields.tsx';
import { draftOf, emptyKeyForm } from './key-form-state.ts';
import { useCreateKey } from './queries.ts';
import { useKeyForm } from './use-key-form.ts';

type CreateKeyDialogProps = Readonly<{ onCreated: (newKey: NewKey) => void; onClose: () => void }>;

export function CreateKeyDialog({ onCreated, onClose }: CreateKeyDialogProps) {
  const creating = useCreateKey();
  const { form, setForm, shownProblems, otherError, submit } = useKeyForm(emptyKeyForm, creating.error);
  const create = () => creating.mutate(draftOf(form, new Date()), { onSuccess: onCreated });
  return (
    <FormDialog
      title="Create a key"
      description="A program calls the API with it, and its requests are charged to your account."
      submitLabel="Create the key"
      isBusy={creating.isPending}
      error={otherError}
      onClose={onClose}
      onSubmit={() => submit(create)}
    >
      <KeyFields form={form} onChange={setForm} problems={shownProblems} />
    </FormDialog>
  );
}
