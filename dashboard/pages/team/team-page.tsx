/** The members of the account. Owners invite people, change roles and remove people; members can only view them. */
import { Ellipsis, UserMinus, UserPlus, UserRoundCog, Users } from 'lucide-react';
import { useState } from 'react';
import type { Member } from '../../../src/console/contract.ts';
import { useAccount, useMe } from '../../api/session.ts';
import { Badge } from '../../kit/badge.tsx';
import { Button, IconButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { Time } from '../../kit/figures.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../kit/menu.tsx';
import { NameWithNote } from '../../kit/name-with-note.tsx';
import { Page } from '../../kit/page.tsx';
import { QueryTable } from '../../kit/query-table.tsx';
import { EmptyState } from '../../kit/states.tsx';
import { actionsColumn, type Column } from '../../kit/table.tsx';
import { InvitationsCard } from './invitations-card.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import { MailCard } from './mail-card.tsx';
import { RemoveDialog, RoleDialog } from './member-dialogs.tsx';
import { useMembers } from './queries.ts';

type OpenDialog = Readonly<{ action: MemberAction; member: Member }>;

export function TeamPage() {
  const { name, role } = useAccount();
  const { user } = useMe();
  const team = useMembers();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const [isInviting, setInviting] = useState(false);
  const close = () => setDialog(null);
  const isOwner = role === 'owner';
  return (
    <Page
      title="Team"
      description={`Everyone with access to ${name}.`}
      actions={
        isOwner ? (
          <Button variant="primary" icon={UserPlus} onClick={() => setInviting(true)}>
            Invite
          </Button>
        ) : undefined
      }
    >
      {role === 'member' && (
        <Callout>
          You are a member of this account. Only owners can invite people, change roles and remove people.
        </Callout>
      )}
      <Card isFlush>
        <QueryTable
          query={team}
          caption="People of this account"
          columns={memberColumns(
            user.id,
            isOwner ? (action, member) => setDialog({ action, member }) : undefined,
          )}
          rows={team.data?.data}
          rowKey={({ id }) => id}
          expectedRows={3}
          empty={
            <EmptyState icon={Users} title="No members yet">
              Invite people, and they appear here.
            </EmptyState>
          }
        />
      </Card>
      {isOwner && <InvitationsCard />}
      {role !== 'operator' && <MailCard />}
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
      {dialog?.action === 'role' && <RoleDialog member={dialog.member} onClose={close} />}
      {dialog?.action === 'remove' && <RemoveDialog member={dialog.member} onClose={close} />}
    </Page>
  );
}

type MemberAction = 'role' | 'remove';

/** Members get no actions. */
export function memberColumns(
  ownId: string,
  onAction: ((action: MemberAction, member: Member) => void) | undefined,
): readonly Column<Member>[] {
  return [
    {
      key: 'person',
      header: 'Person',
      isBare: true,
      cell: ({ id, email, name }) => (
        <NameWithNote
          noteBetween="beside"
          name={
            <span className="inline-flex items-baseline gap-2">
              {name === '' ? email : name}
              {id === ownId && <Badge>You</Badge>}
            </span>
          }
          note={name !== '' && email}
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
      key: 'since',
      header: 'Member since',
      width: 'xl:w-1/6',
      cell: ({ created_at: at }) => <Time at={at} style="date" />,
    },
    ...(onAction === undefined ? [] : [menuColumn(ownId, onAction)]),
  ];
}

function menuColumn(ownId: string, onAction: (action: MemberAction, member: Member) => void): Column<Member> {
  const column = actionsColumn<Member>((member) => (
    <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${member.email}`} />}>
      <MenuItem icon={UserRoundCog} onSelect={() => onAction('role', member)}>
        {member.role === 'owner' ? 'Make a member' : 'Make an owner'}
      </MenuItem>
      <MenuSeparator />
      <MenuItem icon={UserMinus} isDangerous onSelect={() => onAction('remove', member)}>
        {member.id === ownId ? 'Leave account' : 'Remove'}
      </MenuItem>
    </Menu>
  ));
  // As wide as that of the invitations, so that the columns of both stand under each other.
  return { ...column, width: 'w-10 xl:w-24' };
}
