/** Who belongs to the account, and what owners can change about it. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Member, MemberChange } from '../../../src/console/contract.ts';
import { patch, remove } from '../../api/client.ts';
import { accountKey, accountPath, meQuery, useAccount, useAccountQuery, useMe } from '../../api/session.ts';

export function useTeam() {
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
      // One's own role decides what every page offers.
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
    // Whoever has left may ask for nothing of the account any more, its members included.
    onSuccess: () =>
      queryClient.invalidateQueries({
        queryKey: memberId === user.id ? meQuery.queryKey : accountKey(id, 'members'),
      }),
  });
}
