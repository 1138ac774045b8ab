import { useState } from 'react';
import type { OperatorAccount } from '../../../../src/console/operator-contract.ts';
import { Field } from '../../../kit/field.tsx';
import { FormDialog } from '../../../kit/form-dialog.tsx';
import { fieldProblem } from '../../../kit/form-problem.tsx';
import { Input } from '../../../kit/input.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { amountProblem } from '../amount.ts';
import { newUuid } from '../new-uuid.ts';
import { useCreateAccount } from './queries.ts';

const ownFields = ['name', 'credit'];
const longestName = 200;

type CreateAccountDialogProps = Readonly<{
  onCreated: (account: OperatorAccount) => void;
  onClose: () => void;
}>;

export function CreateAccountDialog({ onCreated, onClose }: CreateAccountDialogProps) {
  const [name, setName] = useState('');
  const [credit, setCredit] = useState('');
  const [reference] = useState(newUuid);
  const [isTried, setTried] = useState(false);
  const creating = useCreateAccount();
  const nameProblem = name.trim() === '' ? 'Give the account a name.' : null;
  const creditProblem = credit.trim() === '' ? null : amountProblem(credit);
  const create = () => {
    setTried(true);
    if (nameProblem !== null || creditProblem !== null) return;
    creating.mutate(
      { name: name.trim(), reference, ...(credit.trim() === '' ? {} : { credit: credit.trim() }) },
      {
        onSuccess: (account) => {
          showToast('good', `The account “${account.name}” is created.`);
          onCreated(account);
        },
      },
    );
  };
  return (
    <FormDialog
      title="Create an account"
      description="An account holds the money, the keys and the requests of a customer."
      submitLabel="Create the account"
      isBusy={creating.isPending}
      error={creating.error}
      ownFields={ownFields}
      onClose={onClose}
      onSubmit={create}
    >
      <Field
        label="Name"
        hint="Its members see it too."
        error={(isTried ? nameProblem : null) ?? fieldProblem(creating.error, 'name')}
      >
        <Input
          value={name}
          autoFocus
          autoComplete="off"
          maxLength={longestName}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Field
        label="First credit in USD"
        isOptional
        hint="Without credit its requests to models are refused. You can add it later."
        error={(isTried ? creditProblem : null) ?? fieldProblem(creating.error, 'credit')}
      >
        <Input
          inputMode="decimal"
          autoComplete="off"
          placeholder="0.00"
          value={credit}
          onChange={(event) => setCredit(event.target.value)}
        />
      </Field>
    </FormDialog>
  );
}
