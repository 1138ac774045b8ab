import { useMutation, useQueryClient } from '@tanstack/react-query';
import type {
  Key,
  KeyChange,
  KeyDraft,
  KeyReplacement,
  Keys,
  NewKey,
} from '../../../src/console/contract.ts';
import type { KeyDetail } from '../../../src/console/key-contract.ts';
import { patch, post } from '../../api/client.ts';
import { accountKey, accountPath, useAccount, useAccountQuery } from '../../api/session.ts';

/** Spending and last use keep changing. A long list is half a megabyte, so it is fetched less often. */
const refreshMs = 10_000;
const longListRefreshMs = 60_000;
const longList = 100;

export function useKeys() {
  return useAccountQuery<Keys>('keys', {
    refetchInterval: ({ state }) =>
      (state.data?.data.length ?? 0) > longList ? longListRefreshMs : refreshMs,
  });
}

/** Its rate and what is in progress change by the second. */
const detailRefreshMs = 3_000;

export function useKey(id: string) {
  return useAccountQuery<KeyDetail>(['keys', id], { refetchInterval: detailRefreshMs });
}

function useKeyMutation<Input, Body>(call: (accountId: string, input: Input) => Promise<Body>) {
  const { id } = useAccount();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => call(id, input),
    onSettled: () =>
      Promise.all([
        queryClient.invalidateQueries({ queryKey: accountKey(id, 'keys') }),
        queryClient.invalidateQueries({ queryKey: accountKey(id, 'overview') }),
      ]),
  });
}

export function useCreateKey() {
  return useKeyMutation((account, draft: KeyDraft) => post<NewKey>(accountPath(account, 'keys'), draft));
}

export function useChangeKey(keyId: string) {
  return useKeyMutation((account, change: KeyChange) =>
    patch<Key>(accountPath(account, 'keys', keyId), change),
  );
}

export function useReplaceKey(keyId: string) {
  return useKeyMutation((account, replacement: KeyReplacement) =>
    post<NewKey>(accountPath(account, 'keys', keyId, 'replace'), replacement),
  );
}

export function useRevokeKey(keyId: string) {
  return useKeyMutation<void, Key>((account) => post(accountPath(account, 'keys', keyId, 'revoke')));
}
