/** A gateway with customers, and programs that use its admin API. */
import { createTokenAs, type Scope, scopes, type TokenDraft } from '../../src/tokens/token-store.ts';
import { type ChatFixture, type ErrorBody, openChatFixture } from './chat-fixture.ts';
import type { Environment, Gateway } from './gateway.ts';

export type Program = Readonly<{
  tokenId: string;
  secret: string;
  /** Sends a request below /admin/v1. */
  send: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
}>;

export type AdminFixture = ChatFixture &
  Readonly<{
    /** Makes a token, with every scope unless others are named. */
    program: (draft?: Partial<TokenDraft>) => Promise<Program>;
  }>;

const shell = { door: 'cli', shellUser: 'tests@here' } as const;

export async function openAdminFixture(
  start?: (environment: Environment) => Promise<Gateway>,
): Promise<AdminFixture> {
  const fixture = await openChatFixture(undefined, start);
  const program = async (draft: Partial<TokenDraft> = {}): Promise<Program> => {
    const { id, secret } = await fixture.database.sql.begin((transaction) =>
      createTokenAs(transaction, shell, {
        name: 'Tests',
        scopes,
        networks: null,
        requestsPerMinute: 100_000,
        expiresAt: new Date(Date.now() + 60 * 60 * 1000),
        ...draft,
      }),
    );
    // No token may appear in the log or in the database.
    fixture.canaries.add(secret);
    return { tokenId: id, secret, send: senderFor(fixture.gateway.origin, secret) };
  };
  return { ...fixture, program };
}

export function senderFor(origin: string, secret: string | null): Program['send'] {
  return (method, path, body, headers = {}) =>
    fetch(`${origin}/admin/v1${path}`, {
      method,
      headers: {
        ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
}

/** The body of a response that must have succeeded. */
export async function bodyOf<Body>(sent: Promise<Response>): Promise<Body> {
  const response = await sent;
  const text = await response.text();
  if (!response.ok) throw new Error(`It answered ${response.status}: ${text}`);
  return JSON.parse(text) as Body;
}

/** The status, the code and the parameter of a refusal. */
export async function refusalOf(sent: Promise<Response>): Promise<[number, string, string | undefined]> {
  const response = await sent;
  if (response.ok) return [response.status, 'done', undefined];
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code, error.param];
}

export const allScopes: readonly Scope[] = scopes;
