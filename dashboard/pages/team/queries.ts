import { useMutation, useQueryClient } from '@tanstack/react-query';
import type {
  Invitation,
  InvitationDraft,
  Member,
  MemberChange,
  NewInvitation,
} from '../../../src/console/contract.ts';
import { patch, post, remove } from '../../api/client.ts';
import { accountKey, accountPath, meQuery, useAccount, useAccountQuery, useMe } from '../../api/session.ts';

/** An invitation becomes a member when it is accepted. */
const refreshMs = 10_000;

export function useMembers() {
  return useAccountQuery<{ data: Member[] }>('members', { refetchInterval: refreshMs });
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

export function useInvitations() {
  return useAccountQuery<{ data: Invitation[] }>('invitations', { refetchInterval: refreshMs });
}

function useInvitationMutation<Input, Body>(call: (accountId: string, input: Input) => Promise<Body>) {
  const { id } = useAccount();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => call(id, input),
    onSettled: () => queryClient.invalidateQueries({ queryKey: accountKey(id, 'invitations') }),
  });
}

export function useInvite() {
  return useInvitationMutation((account, draft: InvitationDraft) =>
    post<NewInvitation>(accountPath(account, 'invitations'), draft),
  );
}

export function useRevokeInvitation(invitationId: string) {
  return useInvitationMutation<void, null>((account) =>
    remove(accountPath(account, 'invitations', invitationId)),
  );
}
