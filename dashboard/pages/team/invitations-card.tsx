/** The invitations that nobody has accepted yet. Without any, the card is hidden. */
import { useState } from 'react';
import type { Invitation } from '../../../src/console/contract.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { ConfirmDialog } from '../../kit/dialog.tsx';
import { Time } from '../../kit/figures.tsx';
import { NameWithNote } from '../../kit/name-with-note.tsx';
import { QueryTable } from '../../kit/query-table.tsx';
import type { Column } from '../../kit/table.tsx';
import { showToast } from '../../kit/toast.tsx';
import { useInvitations, useRevokeInvitation } from './queries.ts';

export function InvitationsCard() {
  const invitations = useInvitations();
  const [revoking, setRevoking] = useState<Invitation | null>(null);
  if (!invitations.isError && (invitations.data?.data.length ?? 0) === 0) return null;
  return (
    <Card title="Open invitations" isFlush>
      <QueryTable
        query={invitations}
        errorTitle="The invitations could not be loaded"
        caption="Open invitations"
        columns={invitationColumns(setRevoking)}
        rows={invitations.data?.data}
        rowKey={({ id }) => id}
      />
      {revoking !== null && <RevokeDialog invitation={revoking} onClose={() => setRevoking(null)} />}
    </Card>
  );
}

const nameOf = ({ email }: Invitation) => email ?? 'Anyone with the link';

function invitationColumns(onRevoke: (invitation: Invitation) => void): readonly Column<Invitation>[] {
  return [
    {
      key: 'for',
      header: 'For',
      isBare: true,
      cell: (invitation) => (
        <NameWithNote
          isLong
          noteBetween="beside"
          name={nameOf(invitation)}
          note={
            <>
              Invited by {invitation.invited_by ?? 'the operator'},{' '}
              <Time at={invitation.created_at} style="distance" />
            </>
          }
        />
      ),
    },
    {
      key: 'role',
      header: 'Role',
      width: 'xl:w-1/6',
      cell: ({ role }) => (role === 'owner' ? 'Owner' : 'Member'),
    },
    {
      key: 'expiry',
      header: 'Expires',
      width: 'xl:w-1/6',
      cell: ({ expires_at: at }) => <Time at={at} style="distance" />,
    },
    {
      key: 'actions',
      header: <span className="sr-only">Actions</span>,
      align: 'right',
      isCorner: true,
      width: 'xl:w-24',
      cell: (invitation) => (
        <Button
          size="small"
          aria-label={`Revoke the invitation for ${nameOf(invitation)}`}
          onClick={() => onRevoke(invitation)}
        >
          Revoke
        </Button>
      ),
    },
  ];
}

function RevokeDialog({ invitation, onClose }: Readonly<{ invitation: Invitation; onClose: () => void }>) {
  const { mutateAsync } = useRevokeInvitation(invitation.id);
  const revoke = async () => {
    await mutateAsync();
    showToast('good', 'The invitation was revoked.');
  };
  return (
    <ConfirmDialog
      title="Revoke this invitation?"
      confirmLabel="Revoke invitation"
      isDangerous
      onConfirm={revoke}
      onClose={onClose}
    >
      Its link stops working immediately.
    </ConfirmDialog>
  );
}
