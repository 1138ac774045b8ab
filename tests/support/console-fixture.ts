/** A gateway with people who have signed in to its dashboard: an owner, a member, an operator, and a stranger. */
import { expect } from 'bun:test';
import type { Role } from '../../src/people/user-store.ts';
import { type ChatFixture, type ErrorBody, openChatFixture } from './chat-fixture.ts';
import { addCheapUser } from './cheap-user.ts';

export type Person = 'signed out' | 'stranger' | 'member' | 'owner' | 'operator';
export const everyone: readonly Person[] = ['signed out', 'stranger', 'member', 'owner', 'operator'];

/** Sends what a page of the dashboard would send: the cookie, and the origin where a browser names it. */
export type Visitor = Readonly<{
  cookie: string;
  send: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>;
}>;

export type ConsoleFixture = ChatFixture &
  Readonly<{
    /** The account of the owner and the member, with a key and 100 USD. The stranger owns another one. */
    account: string;
    key: string;
    keyId: string;
    strangersAccount: string;
    strangersKeyId: string;
    people: Readonly<Record<Person, Visitor>>;
  }>;

const password = 'correct horse battery';

/** `catalogOf` makes the catalogue from the address of the sandbox; `start` starts the gateway. */
export async function openConsoleFixture(
  catalogOf?: (sandboxUrl: string) => string,
  start?: Parameters<typeof openChatFixture>[1],
): Promise<ConsoleFixture> {
  const fixture = await openChatFixture(catalogOf, start);
  const { gateway } = fixture;
  const { account, key, keyId } = await fixture.customer('100');
  const { account: strangersAccount, keyId: strangersKeyId } = await fixture.customer('100');
  const addUser = (name: string, accountId: string | null, role: Role = 'owner') =>
    addCheapUser(fixture.database.sql, `${name}@example.com`, password, { accountId, role });
  // One after the other: the list of members is in the order in which they joined.
  await addUser('owner', account);
  await addUser('member', account, 'member');
  await addUser('stranger', strangersAccount);
  await addUser('operator', null);
  const enter = async (name: string) => visitor(gateway.origin, await signIn(gateway.origin, name));
  const [stranger, member, owner, operator] = await Promise.all([
    enter('stranger'),
    enter('member'),
    enter('owner'),
    enter('operator'),
  ]);
  const people = { 'signed out': visitor(gateway.origin, ''), stranger, member, owner, operator };
  return { ...fixture, account, key, keyId, strangersAccount, strangersKeyId, people };
}

/** Signs in as a person of the fixture, as if in another browser. Returns the cookie. */
export async function signIn(origin: string, name: string, secret = password): Promise<string> {
  const response = await fetch(`${origin}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ email: `${name}@example.com`, password: secret }),
  });
  if (response.status !== 200) throw new Error(`Signing in as ${name} answered ${response.status}.`);
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
}

export function visitor(origin: string, cookie: string): Visitor {
  return {
    cookie,
    send: (method, path, body, headers = {}) =>
      fetch(`${origin}${path}`, {
        method,
        redirect: 'manual',
        headers: {
          ...(cookie === '' ? {} : { cookie }),
          ...(method === 'GET' ? { 'sec-fetch-site': 'same-origin' } : { origin }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  };
}

/** For each person, the error code of the refusal, or null for a success. */
export type Expected = Readonly<Record<Person, string | null>>;

export const forEveryone: Expected = {
  'signed out': null,
  stranger: null,
  member: null,
  owner: null,
  operator: null,
};
export const forSignedIn: Expected = { ...forEveryone, 'signed out': 'session_required' };
/** What members see of their account, and operators of any. */
export const forMembers: Expected = {
  'signed out': 'session_required',
  stranger: 'account_not_found',
  member: null,
  owner: null,
  operator: null,
};
/** What members do with their account, or have to themselves. */
export const forMembersAlone: Expected = { ...forMembers, operator: 'permission_denied' };
/** What owners see of their account, and operators of any. */
export const forOwners: Expected = { ...forMembers, member: 'permission_denied' };
/** What owners do with their account. */
export const forOwnersAlone: Expected = { ...forOwners, operator: 'permission_denied' };
export const forOperators: Expected = {
  'signed out': 'session_required',
  stranger: 'permission_denied',
  member: 'permission_denied',
  owner: 'permission_denied',
  operator: null,
};

/** What happened when a person called a route: the code of the refusal, or null for a status of 2xx. */
export async function outcomeFor(
  visitorOf: Visitor,
  method: string,
  path: string,
  body?: unknown,
): Promise<string | null> {
  const response = await visitorOf.send(method, path, body);
  const text = await response.text();
  if (response.ok) return null;
  const { error } = JSON.parse(text) as ErrorBody;
  expect(response.headers.get('x-service-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  return error.code;
}
