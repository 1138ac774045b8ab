/** The keys of providers. A value that cannot be a provider's key counts as not set: it is reported, and never sent. */
import { isForThisGateway } from '../keys/key-format.ts';
import type { Catalog } from './model.ts';

export type Secret = (name: string) => string | null;
export type KeyProblem = Readonly<{ text: string; remedy: string }>;
/** By the IDs of providers. */
export type KeyProblems = ReadonlyMap<string, KeyProblem>;
type ProviderKey = Readonly<{ key: string | null; problem: KeyProblem | null }>;

/** `name` is the variable that the key is in, `owner` the provider that it should be from. */
export function readProviderKey(name: string, owner: string, secret: Secret): ProviderKey {
  const key = secret(name);
  const problem = key === null ? null : problemOf(key, name, owner);
  return { key: problem === null ? key : null, problem };
}

export function keyProblems({ providers }: Catalog, secret: Secret): KeyProblems {
  const problems = new Map<string, KeyProblem>();
  for (const { id, name, apiKeyEnv } of providers.values()) {
    const { problem } = apiKeyEnv === null ? { problem: null } : readProviderKey(apiKeyEnv, name, secret);
    if (problem !== null) problems.set(id, problem);
  }
  return problems;
}

/** Clients' SDKs read their key for this gateway from here, and the gateway may be started in the same terminal. */
const clientsVariable = 'OPENAI_API_KEY';

/** Under another name such a key is intended: the provider may be another Tollgate. */
function problemOf(key: string, name: string, owner: string): KeyProblem | null {
  if (name === clientsVariable && isForThisGateway(key))
    return {
      text: `${name} is a key of this gateway (svc_sk_…), not one of ${owner}.`,
      remedy: `If it is set in this terminal, it hides the one in .env: run unset ${name}. Otherwise put the key for ${owner} in its place.`,
    };
  const [strange] = /[^\x20-\x7e]/u.exec(key.trim()) ?? [];
  if (strange === undefined) return null;
  return {
    text: `${name} contains a character that no key has (${JSON.stringify(strange)}): it looks like a placeholder.`,
    remedy: `Put the key for ${owner} in its place.`,
  };
}
