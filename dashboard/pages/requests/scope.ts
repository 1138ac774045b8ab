/** Whose requests the explorer shows: those of one account, or for operators those of all. */
import { createContext, useContext, useMemo } from 'react';
import { accountKey, accountPath, useAccount } from '../../api/session.ts';
import { operatorPath } from '../operator/operator-query.ts';

export type Scope = Readonly<{
  isOperator: boolean;
  reader: 'customer' | 'operator';
  list: '/requests' | '/operator/requests';
  /** What addresses name besides: the account, on an operator's page of one. */
  search?: Readonly<{ account: string }>;
  /** The start of the keys under which queries are stored. */
  queryKey: readonly string[];
  pathOf: (...segments: readonly string[]) => string;
}>;

const operatorScope: Scope = {
  isOperator: true,
  reader: 'operator',
  list: '/operator/requests',
  queryKey: ['operator'],
  pathOf: operatorPath,
};

export function useOperatorScope(): Scope {
  return operatorScope;
}

export function useAccountScope(): Scope {
  const { id } = useAccount();
  return useMemo(
    () => ({
      isOperator: false,
      reader: 'customer',
      list: '/requests',
      queryKey: accountKey(id),
      pathOf: (...segments) => accountPath(id, ...segments),
    }),
    [id],
  );
}

/** The requests of an account, on its page for operators. */
export function useScopeOfAccount(id: string): Scope {
  return useMemo(
    () => ({
      ...operatorScope,
      search: { account: id },
      queryKey: accountKey(id),
      pathOf: (...segments) => accountPath(id, ...segments),
    }),
    [id],
  );
}

export const ScopeContext = createContext<Scope>(operatorScope);

export function useScope(): Scope {
  return useContext(ScopeContext);
}
