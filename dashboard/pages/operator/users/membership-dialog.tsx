import { useState } from 'react';
import type { Role } from '../../../../src/console/contract.ts';
import type { OperatorUser } from '../../../../src/console/operator-contract.ts';
import { Button } from '../../../kit/button.tsx';
import { Dialog } from '../../../kit/dialog.tsx';
import { FormProblem, fieldProblem } from '../../../kit/form-problem.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { type AccountChoice, AccountPicker } from './account-picker.tsx';
import { useAddMembership } from './queries.ts';
import { RoleField } from './role-field.tsx';

const ownFields = ['account_id', 'role'];

export function MembershipDialog({ user, onClose }: Readonly<{ user: OperatorUser; onClose: () => void }>) {
  const [account, setAccount] = useState<AccountChoice | null>(null);
  const [role, setRole] = useState<Role>('member');
  const [isTried, setTried] = useState(false);
  const adding = useAddMembership(user.id);
  const add = () => {
    setTried(true);
    if (account === null) return;
    adding.mutate(
      { account_id: account.id, role },
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
    <Dialog
      title={`Add ${user.email} to an account`}
      description="Whoever belongs to the account already gets the role that you choose."
      onClose={onClose}
      onSubmit={add}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" isBusy={adding.isPending}>
            Add to the account
          </Button>
        </>
      }
    >
      <AccountPicker
        chosen={account}
        onChoose={setAccount}
        error={
          (isTried && account === null ? 'Choose an account.' : null) ??
          fieldProblem(adding.error, 'account_id')
        }
      />
      <RoleField role={role} onChange={setRole} error={fieldProblem(adding.error, 'role')} />
      <FormProblem error={adding.error} fields={ownFields} />
    </Dialog>
  );
}
