/** Who is signed in, which of their accounts is looked at, and how sessions begin and end. */
import { queryOptions, type UseQueryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query';
import type { Me, SignInOptions } from '../../src/console/contract.ts';
import type { AuthBodies, ListedSession } from '../../src/sign-in/contract.ts';
import { useStoredText } from '../kit/use-stored-text.ts';
import { get, post, queryClient } from './client.ts';
import { forgetSignedIn, rememberSignedIn } from './signed-in-before.ts';

const accountPlace = 'tollgate.account';

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => {
    const me = await get<Me>('/api/console/me', { signal });
    rememberSignedIn();
    return me;
  },
  staleTime: 60_000,
});

export const signInOptionsQuery = queryOptions({
  queryKey: ['sign-in-options'],
  queryFn: ({ signal }) => get<SignInOptions>('/api/console/sign-in-options', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

export type Account = Me['accounts'][number];

/** For pages behind the sign-in, where the answer is there before the page is. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

/** The account that is looked at, or null for a person who belongs to none. */
export function useChosenAccount(): [Account | null, (id: string) => void] {
  const { accounts } = useMe();
  const [chosenId, choose] = useStoredText(accountPlace);
  return [accounts.find(({ id }) => id === chosenId) ?? accounts[0] ?? null, choose];
}

/** For pages about an account, which are not shown to those who have none. */
export function useAccount(): Account {
  const [account] = useChosenAccount();
  if (account === null) throw new Error('This page is about an account, and there is none.');
  return account;
}

/** The address of something of an account: `accountPath(account.id, 'keys', key.id)`. */
export function accountPath(accountId: string, ...words: readonly string[]): string {
  return ['/api/console/accounts', accountId, ...words]
    .map((word, at) => (at === 0 ? word : encodeURIComponent(word)))
    .join('/');
}

type AccountQueryOptions<Answer> = Readonly<{
  query?: Readonly<Record<string, string | number | null | undefined>>;
}> &
  Pick<
    UseQueryOptions<Answer>,
    'enabled' | 'refetchInterval' | 'staleTime' | 'placeholderData' | 'refetchOnWindowFocus'
  >;

/** Something of the account that is looked at, fetched again whenever `words` or `query` are others. */
export function useAccountQuery<Answer>(
  words: string | readonly string[],
  { query = {}, ...options }: AccountQueryOptions<Answer> = {},
) {
  const { id } = useAccount();
  const path = accountPath(id, ...(typeof words === 'string' ? [words] : words));
  return useQuery<Answer>({
    queryKey: [...accountKey(id), ...(typeof words === 'string' ? [words] : words), query],
    queryFn: ({ signal }) => get<Answer>(path, { query, signal }),
    ...options,
  });
}

/** Names what is known of an account, to be fetched again: `invalidateQueries({ queryKey: accountKey(id, 'keys') })`. */
export function accountKey(accountId: string, ...words: readonly string[]): readonly string[] {
  return ['account', accountId, ...words];
}

/** A body with a field that the gateway does not know is refused, so what is sent is held to the contract. */
async function postAuth<Path extends keyof AuthBodies>(path: Path, body: AuthBodies[Path]): Promise<void> {
  await post(`/api/auth/${path}`, body);
}

export async function signIn(email: string, password: string): Promise<void> {
  await postAuth('sign-in/email', { email, password });
  queryClient.clear();
}

export async function signUp(name: string, email: string, password: string): Promise<void> {
  await postAuth('sign-up/email', { name, email, password });
  queryClient.clear();
}

/** `leave` goes to a page that asks for nothing of a session, before what was known in it is forgotten. */
export async function signOut(leave: () => Promise<void>): Promise<void> {
  await postAuth('sign-out', {});
  forgetSignedIn();
  await leave();
  queryClient.clear();
}

export async function requestPasswordReset(email: string): Promise<void> {
  await postAuth('request-password-reset', { email });
}

export async function resetPassword(token: string, newPassword: string): Promise<void> {
  await postAuth('reset-password', { token, newPassword });
}

/** Ends every other session too. */
export async function changePassword(currentPassword: string, newPassword: string): Promise<void> {
  await postAuth('change-password', { currentPassword, newPassword });
}

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => get<ListedSession[]>('/api/auth/list-sessions', { signal }),
});

export async function endSession(id: string): Promise<void> {
  await postAuth('revoke-session', { id });
}

export async function endOtherSessions(): Promise<void> {
  await postAuth('revoke-other-sessions', {});
}
