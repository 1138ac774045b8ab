import { useRef } from 'react';
import type { OperatorUser, ResetLink } from '../../../../src/console/operator-contract.ts';
import { ConfirmDialog } from '../../../kit/dialog.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { showToast } from '../../../kit/toast.tsx';
import { useChangeUser, useMakeResetLink, useSignUserOut } from './queries.ts';
import { UnverifiedNote } from './user-dialogs.tsx';

type ConfirmationProps = Readonly<{ user: OperatorUser; onClose: () => void }>;

export function ResetLinkConfirmation({
  user,
  onMade,
  onClose,
}: ConfirmationProps & Readonly<{ onMade: (link: ResetLink) => void }>) {
  const { mutateAsync } = useMakeResetLink(user.id);
  const made = useRef<ResetLink | null>(null);
  return (
    <ConfirmDialog
      title={`Create a password link for ${user.email}?`}
      confirmLabel="Create link"
      onConfirm={async () => {
        made.current = await mutateAsync();
      }}
      // Once the link exists, closing shows it.
      onClose={() => (made.current === null ? onClose() : onMade(made.current))}
    >
      Anyone with the link can set a new password for this user, once and within an hour. Until then the
      current password stays valid.
    </ConfirmDialog>
  );
}

export function SignOutConfirmation({
  user,
  isSelf,
  onClose,
}: ConfirmationProps & Readonly<{ isSelf: boolean }>) {
  const { mutateAsync } = useSignUserOut(user.id);
  const confirm = async () => {
    const { sessions_ended: count } = await mutateAsync();
    showToast(
      'good',
      `${count === 1 ? '1 session' : `${formatCount(count)} sessions`} of ${user.email} ended.`,
    );
  };
  return (
    <ConfirmDialog
      title={`Sign ${user.email} out everywhere?`}
      confirmLabel="Sign out everywhere"
      isDangerous
      onConfirm={confirm}
      onClose={onClose}
    >
      {isSelf ? 'You have' : 'This user has'} to sign in again in every browser
      {isSelf ? ', including this one' : ''}. The password and the keys of the accounts keep working, but
      password links created for others do not.
    </ConfirmDialog>
  );
}

export function OperatorConfirmation({ user, onClose }: ConfirmationProps) {
  const { mutateAsync } = useChangeUser(user.id);
  const isOperator = !user.is_operator;
  const isUnverified = isOperator && !user.email_verified;
  const confirm = async () => {
    await mutateAsync({ is_operator: isOperator, ...(isUnverified ? { confirm_unverified: true } : {}) });
    showToast('good', `${user.email} is ${isOperator ? 'now' : 'no longer'} an operator.`);
  };
  return (
    <ConfirmDialog
      title={isOperator ? `Make ${user.email} an operator?` : `Remove ${user.email} as operator?`}
      confirmLabel={isOperator ? `Make operator${isUnverified ? ' anyway' : ''}` : 'Remove as operator'}
      isDangerous
      onConfirm={confirm}
      onClose={onClose}
    >
      {isOperator
        ? 'They can view and change all accounts and users of this gateway, including your own rights, and add credit.'
        : 'They stay members of their accounts, but lose access to these pages immediately. Links and admin tokens that they created stop working.'}
      {isUnverified && (
        <div className="mt-4">
          <UnverifiedNote email={user.email} />
        </div>
      )}
    </ConfirmDialog>
  );
}
