/** The tokens of the admin API: `tollgate token …`. */
import { ApiError } from '../errors.ts';
import { parseNetwork } from '../lib/ip-address.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { dayMs } from '../lib/time-units.ts';
import {
  createTokenAs,
  defaultTokenDays,
  defaultTokenRate,
  findTokens,
  isTooFarAhead,
  maxNetworks,
  maxTokenRate,
  revokeTokenAs,
  type Scope,
  scopes,
  type TokenOverview,
} from '../tokens/token-store.ts';
import { readCount, readFutureTime, readLine, readTokenId, UsageError } from './arguments.ts';
import { type DatabaseCommand, formatList } from './command.ts';
import { shellActor } from './shell-user.ts';

const create: DatabaseCommand = {
  name: 'token create',
  summary: `Create a token for the admin API. It is shown only once. Scopes: ${scopes.join(', ')}.`,
  options: [
    { name: 'name', value: 'NAME', required: true },
    { name: 'scopes', value: 'SCOPE,…', required: true },
    { name: 'expires', value: `ISO (in ${defaultTokenDays} days)` },
    { name: 'from', value: 'NETWORK,…' },
    { name: 'rpm', value: `N (${defaultTokenRate})` },
  ],
  run: async (sql, words, config) => {
    const expires = words.text('expires');
    const draft = {
      name: readLine(words.text('name') ?? '', '--name', 200),
      scopes: readScopes(words.text('scopes') ?? ''),
      networks: readNetworks(words.text('from')),
      requestsPerMinute: readCount(words.text('rpm') ?? `${defaultTokenRate}`, '--rpm', maxTokenRate),
      expiresAt: expires === null ? new Date(Date.now() + defaultTokenDays * dayMs) : readExpiry(expires),
    };
    const { id, secret } = await shortTransaction(sql, (transaction) =>
      createTokenAs(transaction, shellActor(config), draft),
    );
    const expiresAt = draft.expiresAt.toISOString();
    return {
      json: { id, name: draft.name, scopes: draft.scopes, expires_at: expiresAt, token: secret },
      text: `Token ${id} was created, and expires at ${expiresAt}. Keep it safe: it is not shown again.\n${secret}`,
    };
  },
};

function readExpiry(text: string): Date {
  const time = readFutureTime(text, '--expires');
  if (isTooFarAhead(time, new Date()))
    throw new UsageError(`--expires must be within a year, but is "${text}".`);
  return time;
}

const list: DatabaseCommand = {
  name: 'token list',
  summary: 'List the tokens of the admin API, with when each was last used.',
  run: async (sql) => {
    const tokens = await findTokens(sql);
    return { json: tokens, text: formatTokens(tokens) };
  },
};

const revoke: DatabaseCommand = {
  name: 'token revoke',
  summary: 'Revoke a token of the admin API at once.',
  positionals: ['ID'],
  run: async (sql, words, config) => {
    const id = readTokenId(words.positionals[0] ?? '', 'ID');
    const wasActive = await shortTransaction(sql, (transaction) =>
      revokeTokenAs(transaction, shellActor(config), id),
    ).catch((error: unknown) => {
      throw error instanceof ApiError && error.code === 'token_not_found' ? noSuchToken(id) : error;
    });
    return {
      json: { id, revoked: true },
      text: wasActive ? `Token ${id} is revoked.` : `Token ${id} was already revoked.`,
    };
  },
};

function readScopes(text: string): Scope[] {
  const chosen = text.split(',').map((scope) => scope.trim());
  const known: readonly string[] = scopes;
  const unknown = chosen.find((scope) => !known.includes(scope));
  if (unknown !== undefined)
    throw new UsageError(`--scopes must be a list of ${scopes.join(', ')}, but has "${unknown}".`);
  return scopes.filter((scope) => chosen.includes(scope));
}

function readNetworks(text: string | null): string[] | null {
  if (text === null) return null;
  const networks = text.split(',').map((network) => network.trim());
  const wrong = networks.find((network) => parseNetwork(network) === null);
  if (wrong !== undefined)
    throw new UsageError(`--from must be a list of networks such as 10.0.0.0/8, but has "${wrong}".`);
  if (networks.length > maxNetworks)
    throw new UsageError(`--from must have at most ${maxNetworks} networks.`);
  return networks;
}

function formatTokens(tokens: readonly TokenOverview[]): string {
  return formatList(
    ['ID', 'NAME', 'TOKEN', 'STATE', 'SCOPES', 'FROM', 'RPM', 'EXPIRES', 'LAST USED'],
    tokens.map((token) => [
      token.id,
      token.name,
      token.hint,
      token.state,
      token.scopes.join(','),
      token.networks?.join(',') ?? 'everywhere',
      `${token.requests_per_minute}`,
      token.expires_at.toISOString(),
      token.last_used_at?.toISOString() ?? '-',
    ]),
    'No tokens yet.',
  );
}

function noSuchToken(id: string): OperatorError {
  return new OperatorError(`There is no token ${id}. List them with: tollgate token list`);
}

export const tokenCommands = [create, list, revoke];
