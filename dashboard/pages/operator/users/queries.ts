import { keepPreviousData } from '@tanstack/react-query';
import type {
  NewUser,
  OperatorUser,
  OperatorUsers,
  ResetLink,
  SignedOut,
  UserChange,
  UserDraft,
  UserMembership,
} from '../../../../src/console/operator-contract.ts';
import { patch, post } from '../../../api/client.ts';
import { operatorPath, useOperatorMutation, useOperatorQuery } from '../operator-query.ts';

const pageSize = 50;

export function useUsers(search: string, cursor: string | null) {
  return useOperatorQuery<OperatorUsers>(['users'], {
    query: { search, cursor, limit: pageSize },
    placeholderData: keepPreviousData,
  });
}

export function useCreateUser() {
  return useOperatorMutation((draft: UserDraft) => post<NewUser>(operatorPath('users'), draft));
}

export function useChangeUser(userId: string) {
  return useOperatorMutation((change: UserChange) =>
    patch<OperatorUser>(operatorPath('users', userId), change),
  );
}

export function useAddMembership(userId: string) {
  return useOperatorMutation((membership: UserMembership) =>
    post<OperatorUser>(operatorPath('users', userId, 'memberships'), membership),
  );
}

export function useMakeResetLink(userId: string) {
  return useOperatorMutation<void, ResetLink>(() => post(operatorPath('users', userId, 'reset-link')));
}

export function useSignUserOut(userId: string) {
  return useOperatorMutation<void, SignedOut>(() => post(operatorPath('users', userId, 'sign-out')));
}
