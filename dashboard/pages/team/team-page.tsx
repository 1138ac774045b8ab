/** The people of the account. Owners say who is what; members see each other. */
import { Link } from '@tanstack/react-router';
import { Ellipsis, UserMinus, UserRoundCog, Users } from 'lucide-react';
import { useState } from 'react';
import type { Member } from '../../../src/console/contract.ts';
import { useAccount, useMe } from '../../api/session.ts';
import { Badge } from '../../kit/badge.tsx';
import { IconButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Time } from '../../kit/figures.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../kit/menu.tsx';
import { Page } from '../../kit/page.tsx';
import { EmptyState, ErrorState } from '../../kit/states.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { RemoveDialog, RoleDialog } from './member-dialogs.tsx';
import { useTeam } from './queries.ts';

type OpenDialog = Readonly<{ action: MemberAction; member: Member }>;

export function TeamPage() {
  const { name, role } = useAccount();
  const { user } = useMe();
  const team = useTeam();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const isOwner = role === 'owner';
  return (
    <Page title="Team" description={`Everyone who belongs to ${name}.`}>
      <Callout>
        {user.is_operator ? (
          <>
            As an operator you add people under{' '}
            <Link to="/operator/users" className={textLinkClass}>
              Operator → Users
            </Link>
            . An owner decides here who is an owner and who leaves.
          </>
        ) : isOwner ? (
          'The operator of this gateway adds people: send them the e-mail address and the role. You decide here who is an owner and who leaves.'
        ) : (
          'You are a member of this account. An owner decides who is what, and the operator of this gateway adds people.'
        )}
      </Callout>
      <Card isFlush>
        {team.data === undefined && team.isError ? (
          <ErrorState error={team.error} onRetry={team.refetch} />
        ) : (
          <Table
            caption="People of this account"
            columns={memberColumns({
              ownId: user.id,
              ...(isOwner
                ? { onAct: (action: MemberAction, member: Member) => setDialog({ action, member }) }
                : {}),
            })}
            rows={team.data?.data}
            rowKey={({ id }) => id}
            expectedRows={3}
            empty={
              <EmptyState icon={Users} title="There is nobody here">
                Ask the operator of this gateway to add people.
              </EmptyState>
            }
          />
        )}
      </Card>
      {dialog?.action === 'role' && <RoleDialog member={dialog.member} onClose={close} />}
      {dialog?.action === 'remove' && <RemoveDialog member={dialog.member} onClose={close} />}
    </Page>
  );
}

/** What the table says of each person. */
export type MemberAction = 'role' | 'remove';

type Options = Readonly<{
  ownId: string;
  /** Left out for those who may only look. */
  onAct?: (action: MemberAction, member: Member) => void;
}>;

export function memberColumns({ ownId, onAct }: Options): readonly Column<Member>[] {
  return [
    {
      key: 'person',
      header: 'Person',
      isBare: true,
      cell: ({ id, email, name }) => (
        <span className="block">
          <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className="font-medium">{name === '' ? email : name}</span>
            {id === ownId && <Badge>You</Badge>}
          </span>
          {name !== '' && <span className="block text-xs text-ink-faint">{email}</span>}
        </span>
      ),
    },
    {
      key: 'role',
      header: 'Role',
      cell: ({ role }) => (
        <Badge tone={role === 'owner' ? 'accent' : 'plain'}>{role === 'owner' ? 'Owner' : 'Member'}</Badge>
      ),
    },
    { key: 'since', header: 'Since', cell: ({ created_at: at }) => <Time at={at} style="date" /> },
    ...(onAct === undefined ? [] : [menuColumn(ownId, onAct)]),
  ];
}

function menuColumn(ownId: string, onAct: (action: MemberAction, member: Member) => void): Column<Member> {
  return {
    key: 'actions',
    header: <span className="sr-only">Actions</span>,
    align: 'right',
    isCorner: true,
    width: 'w-14',
    cell: (member) => (
      <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${member.email}`} />}>
        <MenuItem icon={UserRoundCog} onSelect={() => onAct('role', member)}>
          {member.role === 'owner' ? 'Make a member' : 'Make an owner'}
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={UserMinus} isDangerous onSelect={() => onAct('remove', member)}>
          {member.id === ownId ? 'Leave the account' : 'Remove'}
        </MenuItem>
      </Menu>
    ),
  };
}
