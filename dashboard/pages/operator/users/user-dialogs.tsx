/** Someone who may sign in from now on. They choose their password themselves, by a link. */
import { useState } from 'react';
import type { Role } from '../../../../src/console/contract.ts';
import type { NewUser, OperatorUser, ResetLink } from '../../../../src/console/operator-contract.ts';
import { Button } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Checkbox } from '../../../kit/choice.tsx';
import { CopyButton } from '../../../kit/copy-button.tsx';
import { Dialog, FormDialog } from '../../../kit/dialog.tsx';
import { Field, Input, Select } from '../../../kit/field.tsx';
import { Time } from '../../../kit/figures.tsx';
import { fieldProblem } from '../../../kit/states.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { type AccountChoice, AccountPicker } from './account-picker.tsx';
import { useAddMembership, useCreateUser } from './queries.ts';

const userFields = ['email', 'account_id', 'role'];

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
      ownFields={userFields}
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
            `${user.email} is ${role === 'owner' ? 'an owner' : 'a member'} of “${account.name}”.`,
          );
          onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title={`Add ${user.email} to an account`}
      description="Whoever belongs to the account already gets the role that you choose."
      submitLabel="{isVerified ? 'Add to the account' : 'Add anyway'}"
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

type RoleFieldProps = Readonly<{ role: Role; onChange: (role: Role) => void; error?: string | null }>;

export function RoleField({ role, onChange, error = null }: RoleFieldProps) {
  return (
    <Field
      label="Role"
      hint="Owners make keys and say who belongs to the account. Members use it and see everything in it."
      error={error}
    >
      <Select
        value={role}
        onChange={(event) => onChange(event.target.value === 'owner' ? 'owner' : 'member')}
      >
        <option value="owner">Owner</option>
        <option value="member">Member</option>
      </Select>
    </Field>
  );
}

/** Before someone gets rights who may not be who the address says. */
export function UnverifiedNote({ email }: Readonly<{ email: string }>) {
  return (
    <Callout tone="warn" title="This address is not verified">
      Somebody signed up with {email}, and it may not be the person who reads its mail. If you are not sure,
      make a password link and send it to this address first: using it verifies the address and signs everyone
      else out.
    </Callout>
  );
}

type LinkDialogProps = Readonly<{ email: string; link: ResetLink; isNew?: boolean; onClose: () => void }>;

/** The one time that a password link is in sight. It closes by a button only: a click beside it must not lose it. */
export function LinkDialog({ email, link, isNew = false, onClose }: LinkDialogProps) {
  return (
    <Dialog
      title={isNew ? `${email} is created` : `Password link for ${email}`}
      isDismissible={false}
      onClose={onClose}
      footer={
        <Button variant="primary" onClick={onClose}>
          I have sent it
        </Button>
      }
    >
      <p className="text-ink-soft">
        Send this link to {email} in a way that only they can read. With it they choose a password.
      </p>
      <div className="flex flex-wrap items-center gap-2">
        <code
          data-testid="password-link"
          className="min-w-0 flex-1 basis-72 rounded-md border border-line bg-sunken px-3 py-2 font-mono text-[0.8125rem] wrap-anywhere select-all"
        >
          {link.reset_url}
        </code>
        <CopyButton text={link.reset_url} label="Copy the link" isWide variant="primary" />
      </div>
      <Callout tone="warn" title="Copy it now: it is shown only this once">
        It works once and is valid for an hour, until <Time at={link.expires_at} />. You can make another one
        at any time.
      </Callout>
    </Dialog>
  );
}
