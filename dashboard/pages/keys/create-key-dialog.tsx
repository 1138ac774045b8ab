import type { NewKey } from '../../../src/console/contract.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { FormProblem } from '../../kit/form-problem.tsx';
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
    <Dialog
      title="Create a key"
      description="A program calls the API with it, and its requests are charged to your account."
      onClose={onClose}
      onSubmit={() => submit(create)}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" isBusy={creating.isPending}>
            Create the key
          </Button>
        </>
      }
    >
      <KeyFields form={form} onChange={setForm} problems={shownProblems} />
      <FormProblem error={otherError} />
    </Dialog>
  );
}
