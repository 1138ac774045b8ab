/** What is asked before something is done to a user. Each says what happens. */
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
      title={`Make a password link for ${user.email}?`}
      confirmLabel="Make the link"
      onConfirm={async () => {
        made.current = await mutateAsync({});
      }}
      // What closes after the link was made makes room for it.
      onClose={() => (made.current === null ? onClose() : onMade(made.current))}
    >
      Whoever has the link can choose a new password for this user, once and within an hour. Until then the
      password stays as it is.
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
    const { sessions_ended: count } = await mutateAsync({});
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
      Every browser {isSelf ? 'of yours, this one included,' : 'of this user'} has to sign in again. Their
      password and the keys of their accounts keep working; password links that they made for others do not.
    </ConfirmDialog>
  );
}

export function OperatorConfirmation({ user, onClose }: ConfirmationProps) {
  const { mutateAsync } = useChangeUser(user.id);
  const isOperator = !user.is_operator;
  const isDoubtful = isOperator && !user.email_verified;
  const confirm = async () => {
    await mutateAsync({ is_operator: isOperator, ...(isDoubtful ? { confirm_unverified: true } : {}) });
    showToast('good', `${user.email} is ${isOperator ? 'an operator now' : 'no operator any more'}.`);
  };
  return (
    <ConfirmDialog
      title={isOperator ? `Make ${user.email} an operator?` : `Remove ${user.email} as operator?`}
      confirmLabel={isOperator ? `Make an operator${isDoubtful ? ' anyway' : ''}` : 'Remove as operator'}
      isDangerous
      onConfirm={confirm}
      onClose={onClose}
    >
      {isOperator
        ? 'They can see and change every account, user and credit of this gateway, and your own rights too.'
        : 'They keep the accounts that they belong to, and lose these pages at once. Links that they made stop working.'}
      {isDoubtful && (
        <div className="mt-4">
          <UnverifiedNote email={user.email} />
        </div>
      )}
    </ConfirmDialog>
  );
}
