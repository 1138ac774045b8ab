/** Creates a user, who sets a password with a link. */
import { useState } from 'react';
import type { Role } from '../../../../src/console/contract.ts';
import type { NewUser, OperatorUser, ResetLink } from '../../../../src/console/operator-contract.ts';
import { Callout } from '../../../kit/callout.tsx';
import { Checkbox } from '../../../kit/choice.tsx';
import { FormDialog } from '../../../kit/dialog.tsx';
import { Field, Input, Select } from '../../../kit/field.tsx';
import { Time } from '../../../kit/figures.tsx';
import { OneTimeDialog } from '../../../kit/one-time-dialog.tsx';
import { fieldProblem } from '../../../kit/states.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { type AccountChoice, AccountPicker } from './account-picker.tsx';
import { useAddMembership, useCreateUser } from './queries.ts';

const userFields = ['email', 'account_id', 'role'];

type CreateUserDialogProps = Readonly<{
  /** Where the account is already known. */
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
      title={given === undefined ? 'Create user' : `Add user to ${given.name}`}
      description="You get a link to send to them, with which they set their password."
      submitLabel="Create user"
      isBusy={creating.isPending}
      error={creating.error}
      ownFields={userFields}
      onClose={onClose}
      onSubmit={create}
    >
      <Field
        label="E-mail"
        error={(isTried ? emailProblem : null) ?? fieldProblem(creating.error, 'email')}
        hint={given === undefined ? undefined : 'To add an existing user, use the Users page instead.'}
      >
        <Input
          type="email"
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
        hint="Can view and change all accounts and users of this gateway, and add credit."
        isChecked={isOperator}
        onChange={setOperator}
      />
    </FormDialog>
  );
}

const membershipFields = ['account_id', 'role'];

export function MembershipDialog({ user, onClose }: Readonly<{ user: OperatorUser; onClose: () => void }>) {
  const [account, setAccount] = useState<AccountChoice | null>(null);
  const [role, setRole] = useState<Role>('member');
  const [isTried, setTried] = useState(false);
  const adding = useAddMembership(user.id);
  const { email_verified: isVerified } = user;
  const add = () => {
    setTried(true);
    if (account === null) return;
    adding.mutate(
      { account_id: account.id, role, ...(isVerified ? {} : { confirm_unverified: true }) },
      {
        onSuccess: () => {
          showToast(
            'good',
            `${user.email} is now ${role === 'owner' ? 'an owner' : 'a member'} of “${account.name}”.`,
          );
          onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title={`Add ${user.email} to an account`}
      description="If the user is already a member, only the role changes."
      submitLabel={isVerified ? 'Add to account' : 'Add anyway'}
      isBusy={adding.isPending}
      error={adding.error}
      ownFields={membershipFields}
      onClose={onClose}
      onSubmit={add}
    >
      {!isVerified && <UnverifiedNote email={user.email} />}
      <AccountPicker
        chosen={account}
        onChoose={setAccount}
        error={
          (isTried && account === null ? 'Choose an account.' : null) ??
          fieldProblem(adding.error, 'account_id')
        }
      />
      <RoleField role={role} onChange={setRole} error={fieldProblem(adding.error, 'role')} />
    </FormDialog>
  );
}

const roles = [
  { value: 'owner', label: 'Owner' },
  { value: 'member', label: 'Member' },
] as const;

type RoleFieldProps = Readonly<{ role: Role; onChange: (role: Role) => void; error?: string | null }>;

function RoleField({ role, onChange, error = null }: RoleFieldProps) {
  return (
    <Field
      label="Role"
      hint="Owners manage keys and members. Members can view everything and use the playground."
      error={error}
    >
      <Select value={role} options={roles} onChange={onChange} />
    </Field>
  );
}

/** A warning before rights are granted to someone who may not own the address. */
export function UnverifiedNote({ email }: Readonly<{ email: string }>) {
  return (
    <Callout tone="warn" title="This address is not verified">
      Someone signed up with {email}, but may not own this address. If you are not sure, create a password
      link and send it to this address first: using it verifies the address and ends all other sessions.
    </Callout>
  );
}

type LinkDialogProps = Readonly<{ email: string; link: ResetLink; isNew?: boolean; onClose: () => void }>;

export function LinkDialog({ email, link, isNew = false, onClose }: LinkDialogProps) {
  return (
    <OneTimeDialog
      title={isNew ? `${email} was created` : `Password link for ${email}`}
      secret={link.reset_url}
      copyLabel="Copy link"
      testId="password-link"
      doneLabel="I have sent it"
      onClose={onClose}
      introduction={
        <p className="text-ink-soft">
          Send this link to {email} over a private channel. They use it to set their password.
        </p>
      }
    >
      <Callout tone="warn" title="Copy it now: it is shown only once">
        It works once and expires in an hour, at <Time at={link.expires_at} />. You can create another one at
        any time.
      </Callout>
    </OneTimeDialog>
  );
}
