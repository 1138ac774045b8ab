import { useState } from 'react';
import type { Role } from '../../../../src/console/contract.ts';
import type { OperatorUser } from '../../../../src/console/operator-contract.ts';
import { FormDialog } from '../../../kit/form-dialog.tsx';
import { fieldProblem } from '../../../kit/form-problem.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { type AccountChoice, AccountPicker } from './account-picker.tsx';
import { useAddMembership } from './queries.ts';
import { RoleField } from './role-field.tsx';
import { UnverifiedNote } from './unverified-note.tsx';

const ownFields = ['account_id', 'role'];

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
      ownFields={ownFields}
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
