/** The keys and the members of an account, as its own pages show them, without what its owners do there. */
import { useQuery } from '@tanstack/react-query';
import { KeyRound, Users } from 'lucide-react';
import type { Keys, Member } from '../../../../src/console/contract.ts';
import { get } from '../../../api/client.ts';
import { accountKey, accountPath, useMe } from '../../../api/session.ts';
import { Card } from '../../../kit/card.tsx';
import { QueryTable } from '../../../kit/query-table.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import { keyColumnsOf } from '../../keys/key-columns.tsx';
import { memberColumns } from '../../team/team-page.tsx';

const refreshMs = 15_000;

function useOfAccount<Body>(accountId: string, part: string) {
  return useQuery<Body>({
    queryKey: [...accountKey(accountId, part), {}],
    queryFn: ({ signal }) => get<Body>(accountPath(accountId, part), { signal }),
    refetchInterval: refreshMs,
  });
}

export function AccountKeys({ accountId }: Readonly<{ accountId: string }>) {
  const keys = useOfAccount<Keys>(accountId, 'keys');
  return (
    <Card title="Keys" description="All in force, and the newest 200 of the others." isFlush>
      <QueryTable
        query={keys}
        caption="Keys of the account"
        isDense
        columns={keyColumnsOf(accountId)}
        rows={keys.data?.data}
        rowKey={({ id }) => id}
        expectedRows={3}
        empty={
          <EmptyState icon={KeyRound} title="No keys yet">
            The owners of the account create them.
          </EmptyState>
        }
      />
    </Card>
  );
}

export function AccountMembers({ accountId }: Readonly<{ accountId: string }>) {
  const { user } = useMe();
  const members = useOfAccount<{ data: Member[] }>(accountId, 'members');
  return (
    <Card title="Members" isFlush>
      <QueryTable
        query={members}
        caption="Members of the account"
        columns={memberColumns(user.id, undefined)}
        rows={members.data?.data}
        rowKey={({ id }) => id}
        expectedRows={3}
        empty={
          <EmptyState icon={Users} title="No members yet">
            Add a user to the account, and they appear here.
          </EmptyState>
        }
      />
    </Card>
  );
}
