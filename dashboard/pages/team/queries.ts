import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Member, MemberChange } from '../../../src/console/contract.ts';
import { patch, remove } from '../../api/client.ts';
import { accountKey, accountPath, meQuery, useAccount, useAccountQuery, useMe } from '../../api/session.ts';

export function useMembers() {
  return useAccountQuery<{ data: Member[] }>('members');
}

export function useChangeRole(memberId: string) {
  const { id } = useAccount();
  const { user } = useMe();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (change: MemberChange) => patch<Member>(accountPath(id, 'members', memberId), change),
    onSettled: async () => {
      await queryClient.invalidateQueries({ queryKey: accountKey(id, 'members') });
      // A user's own role decides what each page offers.
      if (memberId === user.id) await queryClient.invalidateQueries({ queryKey: meQuery.queryKey });
    },
  });
}

export function useRemoveMember(memberId: string) {
  const { id } = useAccount();
  const { user } = useMe();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: () => remove<null>(accountPath(id, 'members', memberId)),
    // A user who has left can no longer fetch anything of the account, not even its members.
    onSuccess: () =>
      queryClient.invalidateQueries({
        queryKey: memberId === user.id ? meQuery.queryKey : accountKey(id, 'members'),
      }),
  });
}
