/** Who is signed in, which of their accounts is selected, and how sessions start and end. */
import { queryOptions, type UseQueryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { useMatch } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import type { Me, SignInOptions } from '../../src/console/contract.ts';
import type { OperatorAccount } from '../../src/console/operator-contract.ts';
import type {
  AuthBodies,
  CurrentSession,
  InvitationDetails,
  JoinedAccount,
  ListedSession,
} from '../../src/people/sign-in-contract.ts';
import { forgetWork } from '../saved-work.ts';
import { readStored, removeStored, writeStored } from '../storage.ts';
import { get, post, type Query, queryClient } from './client.ts';

const signedInKey = 'tollgate.signed-in';
const accountStorageKey = 'tollgate.account';
/** Where someone went with the box that finds anything. Signing out forgets it. */
export const recentPlacesKey = 'tollgate.recent';

/** Known for as long as the page is open, even if another tab signs out. */
let hasBeenSignedIn = false;

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => {
    const me = await get<Me>('/api/console/me', { signal });
    hasBeenSignedIn = true;
    writeStored(signedInKey, 'yes');
    return me;
  },
  staleTime: 60_000,
});

/** Whether someone used this browser and did not sign out, so that a missing session means one that has ended. */
export function wasSignedIn(): boolean {
  return hasBeenSignedIn || readStored(signedInKey) !== null;
}

export const signInOptionsQuery = queryOptions({
  queryKey: ['sign-in-options'],
  queryFn: ({ signal }) => get<SignInOptions>('/api/console/sign-in-options', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

/** An operator reads the accounts of others, and changes nothing there. */
export type AccountRole = Me['accounts'][number]['role'] | 'operator';
export type Account = Omit<Me['accounts'][number], 'role'> & Readonly<{ role: AccountRole }>;

/** For pages behind the sign-in, which are rendered only once this is known. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

const selectionListeners = new Set<() => void>();

/** Follows a selection in another tab too. */
function subscribeToSelection(listener: () => void): () => void {
  selectionListeners.add(listener);
  window.addEventListener('storage', listener);
  return () => {
    selectionListeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
}

/** For pages that name no account, and for the next visit. */
export function selectAccount(id: string): void {
  if (readStored(accountStorageKey) === id) return;
  writeStored(accountStorageKey, id);
  for (const listener of selectionListeners) listener();
}

/**
 * The account of a page: the one that its address names, or else the one that was selected last. Null for a person who
 * belongs to none.
 */
export function accountOf<Some extends Pick<Account, 'id'>>(
  accounts: readonly Some[],
  named: unknown,
  selectedId: string | null,
): Some | null {
  const find = (wanted: unknown) => accounts.find(({ id }) => id === wanted);
  return find(named) ?? find(selectedId) ?? accounts[0] ?? null;
}

/** For addresses that are built before a page is shown. Undefined until it is known who is signed in. */
export function accountIdFor(named: unknown): string | undefined {
  const me = queryClient.getQueryData(meQuery.queryKey);
  if (me === undefined) return undefined;
  return foreignIdOf(me, named) ?? accountOf(me.accounts, named, readStored(accountStorageKey))?.id;
}

/** The account of others that an operator looks at; null for everyone else, and in an account of their own. */
export function foreignIdOf(
  { user, accounts }: Pick<Me, 'user' | 'accounts'>,
  named: unknown,
): string | null {
  const isOwn = accounts.some(({ id }) => id === named);
  return user.is_operator && typeof named === 'string' && !isOwn ? named : null;
}

const foreignStaleMs = 30_000;

/** What an operator looks at, once it is known. Its ID is null if the page is about no account of others. */
export function useForeignAccount() {
  const me = useMe();
  const id = foreignIdOf(me, useNamedAccount());
  const found = useQuery({
    queryKey: ['operator', 'accounts', id],
    queryFn: ({ signal }) =>
      get<OperatorAccount>(`/api/console/operator/accounts/${encodeURIComponent(id ?? '')}`, { signal }),
    enabled: id !== null,
    staleTime: foreignStaleMs,
  });
  return { ...found, id };
}

/**
 * The account in the address of a page about one. Elsewhere it may be a filter. Not by the location, which is that of the next
 * page already while this one is still shown.
 */
export function useNamedAccount(): string | undefined {
  const onPage = useMatch({ from: '/signed-in/of-account', shouldThrow: false, select: accountNamedIn });
  const onPaper = useMatch({ from: '/on-paper', shouldThrow: false, select: accountNamedIn });
  return onPage ?? onPaper;
}

function accountNamedIn({ search }: Readonly<{ search: unknown }>): string | undefined {
  const { account } = search as Readonly<{ account?: unknown }>;
  return typeof account === 'string' ? account : undefined;
}

export function useSelectedAccount(): Account | null {
  const { accounts } = useMe();
  const named = useNamedAccount();
  const selectedId = useSyncExternalStore(subscribeToSelection, () => readStored(accountStorageKey));
  const { id, data: foreign } = useForeignAccount();
  if (id === null) return accountOf<Account>(accounts, named, selectedId);
  return foreign === undefined ? null : { ...foreign, role: 'operator' };
}

/** For pages about an account, which are not shown to people without one. */
export function useAccount(): Account {
  const account = useSelectedAccount();
  if (account === null) throw new Error('This page needs an account, and there is none.');
  return account;
}

/** The path of something that belongs to an account: `accountPath(account.id, 'keys', key.id)`. */
export function accountPath(accountId: string, ...segments: readonly string[]): string {
  return ['/api/console/accounts', ...[accountId, ...segments].map(encodeURIComponent)].join('/');
}

export type FetchOptions<Body> = Readonly<{ query?: Query }> &
  Pick<UseQueryOptions<Body>, 'enabled' | 'refetchInterval' | 'staleTime' | 'placeholderData'>;

/** Fetches something of the selected account, and again whenever the path or the query changes. */
export function useAccountQuery<Body>(
  path: string | readonly string[],
  { query = {}, ...options }: FetchOptions<Body> = {},
) {
  const { id } = useAccount();
  const segments = typeof path === 'string' ? [path] : path;
  return useQuery<Body>({
    queryKey: [...accountKey(id), ...segments, query],
    queryFn: ({ signal }) => get<Body>(accountPath(id, ...segments), { query, signal }),
    ...options,
  });
}

/** The query key of account data, to invalidate it: `invalidateQueries({ queryKey: accountKey(id, 'keys') })`. */
export function accountKey(accountId: string, ...segments: readonly string[]): readonly string[] {
  return ['account', accountId, ...segments];
}

/** The gateway rejects a body with an unknown field, so bodies are checked against the contract. */
async function postAuth<Path extends keyof AuthBodies, Body = unknown>(
  path: Path,
  body: AuthBodies[Path],
): Promise<Body> {
  return await post<Body>(`/api/auth/${path}`, body);
}

export async function signIn(email: string, password: string): Promise<void> {
  await postAuth('sign-in/email', { email, password });
  queryClient.clear();
}

export async function signUp(name: string, email: string, password: string): Promise<void> {
  await postAuth('sign-up/email', { name, email, password });
  queryClient.clear();
}

/** `leave` goes to a page that needs no session, before everything known from the session is dropped. */
export async function signOut(leave: () => Promise<void>): Promise<void> {
  await postAuth('sign-out', {});
  hasBeenSignedIn = false;
  removeStored(signedInKey);
  removeStored(recentPlacesKey);
  forgetWork();
  await leave();
  queryClient.clear();
}

export async function requestPasswordReset(email: string): Promise<void> {
  await postAuth('request-password-reset', { email });
}

export async function resetPassword(token: string, newPassword: string): Promise<void> {
  await postAuth('reset-password', { token, newPassword });
}

/** Ends all other sessions too. */
export async function changePassword(currentPassword: string, newPassword: string): Promise<void> {
  await postAuth('change-password', { currentPassword, newPassword });
}

/** Whoever has signed in knows from now on that the address is verified. */
export async function verifyEmail(token: string): Promise<true> {
  await postAuth('verify-email', { token });
  queryClient.removeQueries({ queryKey: meQuery.queryKey });
  queryClient.removeQueries({ queryKey: ['account'] });
  return true;
}

export async function resendVerification(): Promise<void> {
  await postAuth('send-verification-email', {});
}

/** Who is signed in, for a page that people without a session see too. */
export const currentSessionQuery = queryOptions({
  queryKey: ['current-session'],
  queryFn: ({ signal }) => get<CurrentSession>('/api/auth/get-session', { signal }),
});

export async function findInvitation(token: string): Promise<InvitationDetails> {
  return await postAuth<'invitation/details', InvitationDetails>('invitation/details', { token });
}

/** The account that was joined is the selected one from now on. */
function enterAccount({ accountId }: JoinedAccount): void {
  queryClient.clear();
  selectAccount(accountId);
}

export async function acceptInvitation(token: string): Promise<void> {
  enterAccount(await postAuth<'invitation/accept', JoinedAccount>('invitation/accept', { token }));
}

export async function signUpInvited(body: AuthBodies['invitation/sign-up']): Promise<void> {
  enterAccount(await postAuth<'invitation/sign-up', JoinedAccount>('invitation/sign-up', body));
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
