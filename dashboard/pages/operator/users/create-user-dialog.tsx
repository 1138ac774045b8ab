/** Someone who may sign in from now on. They choose their password themselves, by a link. */
import { useState } from 'react';
import type { Role } from '../../../../src/console/contract.ts';
import type { NewUser } from '../../../../src/console/operator-contract.ts';
import { Checkbox } from '../../../kit/choice.tsx';
import { Field } from '../../../kit/field.tsx';
import { FormDialog } from '../../../kit/form-dialog.tsx';
import { fieldProblem } from '../../../kit/form-problem.tsx';
import { Input } from '../../../kit/input.tsx';
import { type AccountChoice, AccountPicker } from './account-picker.tsx';
import { useCreateUser } from './queries.ts';
import { RoleField } from './role-field.tsx';

const ownFields = ['email', 'account_id', 'role'];

type CreateUserDialogProps = Readonly<{
  /** Where the account is known already. */
  account?: AccountChoice;
  onCreated: (newUser: NewUser) => void;
  onClose: () => void;
}>;

export function CreateUserDialog({ account: given, onCreated, onClose }: CreateUserDialogProps) {
  const [email, setEmail] = useState('');
  const [account, setAccount] = useState<AccountChoice | null>(given ?? null);
  const [role, setRole] = useState<Role>('owner');
  const [isOperator, setOperator] = useState(false);
  const [isTried, setTried] = useState(false);
  const creating = useCreateUser();
  const emailProblem = /^\S+@\S+$/.test(email.trim()) ? null : 'Enter an e-mail address.';
  const accountProblem =
    account === null && !isOperator ? 'Choose an account, or make the user an operator.' : null;
  const create = () => {
    setTried(true);
    if (emailProblem !== null || accountProblem !== null) return;
    creating.mutate(
      {
        email: email.trim(),
        is_operator: isOperator,
        ...(account === null ? {} : { account_id: account.id, role }),
      },
      { onSuccess: onCreated },
    );
  };
  return (
    <FormDialog
      title={given === undefined ? 'Create a user' : `Add a user to ${given.name}`}
      description="You get a link to send to them. They choose their own password with it."
      submitLabel="Create the user"
      isBusy={creating.isPending}
      error={creating.error}
      ownFields={ownFields}
      onClose={onClose}
      onSubmit={create}
    >
      <Field
        label="E-mail"
        error={(isTried ? emailProblem : null) ?? fieldProblem(creating.error, 'email')}
        {...(given === undefined
          ? {}
          : { hint: 'Someone who can sign in already is added to an account on the page Users.' })}
      >
        <Input
          type="email"
          autoFocus
          autoComplete="off"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
      </Field>
      {given === undefined && (
        <AccountPicker
          chosen={account}
          onChoose={setAccount}
          error={(isTried ? accountProblem : null) ?? fieldProblem(creating.error, 'account_id')}
        />
      )}
      {account !== null && (
        <RoleField role={role} onChange={setRole} error={fieldProblem(creating.error, 'role')} />
      )}
      <Checkbox
        label="Operator"
        hint="Sees and changes every account, user and credit of this gateway."
        isChecked={isOperator}
        onChange={setOperator}
      />
    </FormDialog>
  );
}
