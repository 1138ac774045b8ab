import { useNavigate } from '@tanstack/react-router';
import type { Member } from '../../../src/console/contract.ts';
import { useAccount, useMe } from '../../api/session.ts';
import { ConfirmDialog } from '../../kit/dialog.tsx';
import { showToast } from '../../kit/toast.tsx';
import { useChangeRole, useRemoveMember } from './queries.ts';

type MemberDialogProps = Readonly<{ member: Member; onClose: () => void }>;

export function RoleDialog({ member, onClose }: MemberDialogProps) {
  const { user } = useMe();
  const { mutateAsync } = useChangeRole(member.id);
  const role = member.role === 'owner' ? 'member' : 'owner';
  const roleWords = role === 'owner' ? 'an owner' : 'a member';
  const isSelf = member.id === user.id;
  const confirm = async () => {
    await mutateAsync({ role });
    showToast('good', `${isSelf ? 'You are' : `${member.email} is`} ${roleWords} now.`);
  };
  return (
    <ConfirmDialog
      title={`Make ${isSelf ? 'yourself' : member.email} ${roleWords}?`}
      confirmLabel={`Make ${roleWords}`}
      isDangerous={isSelf}
      onConfirm={confirm}
      onClose={onClose}
    >
      {role === 'owner'
        ? 'Owners can create, edit and revoke keys, change roles and remove people.'
        : 'Members can view everything in the account and use its keys in the playground. They cannot change keys or members.'}
      {isSelf && ' Only another owner can undo this.'}
    </ConfirmDialog>
  );
}

export function RemoveDialog({ member, onClose }: MemberDialogProps) {
  const { user } = useMe();
  const { name } = useAccount();
  const navigate = useNavigate();
  const { mutateAsync } = useRemoveMember(member.id);
  const isSelf = member.id === user.id;
  const confirm = async () => {
    await mutateAsync();
    showToast('good', isSelf ? `You have left “${name}”.` : `${member.email} was removed.`);
    if (isSelf) await navigate({ to: '/' });
  };
  return (
    <ConfirmDialog
      title={isSelf ? `Leave ${name}?` : `Remove ${member.email}?`}
      confirmLabel={isSelf ? 'Leave account' : 'Remove'}
      isDangerous
      onConfirm={confirm}
      onClose={onClose}
    >
      {isSelf ? 'You' : 'They'} lose access to this account immediately. Its keys keep working: revoke those
      that {isSelf ? 'you' : 'they'} should no longer use.
    </ConfirmDialog>
  );
}
