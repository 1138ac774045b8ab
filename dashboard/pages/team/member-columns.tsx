/** What the table says of each person. */
import { Ellipsis, UserMinus, UserRoundCog } from 'lucide-react';
import type { Member } from '../../../src/console/contract.ts';
import { Badge } from '../../kit/badge.tsx';
import { IconButton } from '../../kit/icon-button.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../kit/menu.tsx';
import type { Column } from '../../kit/table.tsx';
import { Time } from '../../kit/time.tsx';

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
