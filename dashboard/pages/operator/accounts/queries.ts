import { keepPreviousData } from '@tanstack/react-query';
import type {
  AccountCredit,
  AccountDraft,
  AccountPriceGroup,
  CatalogStatus,
  OperatorAccount,
  OperatorAccounts,
} from '../../../../src/console/operator-contract.ts';
import { post } from '../../../api/client.ts';
import { operatorPath, useOperatorMutation, useOperatorQuery } from '../operator-query.ts';

const pageSize = 50;
const refreshMs = 10_000;

/** Balances keep changing. */
export function useAccounts(search: string, cursor: string | null) {
  return useOperatorQuery<OperatorAccounts>(['accounts'], {
    query: { search, cursor, limit: pageSize },
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });
}

/** The first few matches, to choose from. */
export function useAccountChoices(search: string, limit: number) {
  return useOperatorQuery<OperatorAccounts>(['accounts'], {
    query: { search, limit },
    placeholderData: keepPreviousData,
  });
}

export function useCreateAccount() {
  return useOperatorMutation((draft: AccountDraft) => post<OperatorAccount>(operatorPath('accounts'), draft));
}

export function useCreditAccount(accountId: string) {
  return useOperatorMutation((credit: AccountCredit) =>
    post<OperatorAccount>(operatorPath('accounts', accountId, 'credit'), credit),
  );
}

/** The price groups of the catalogue. */
export function usePriceGroups() {
  return useOperatorQuery<CatalogStatus>(['catalog']);
}

export function useSetPriceGroup(accountId: string) {
  return useOperatorMutation((change: AccountPriceGroup) =>
    post<OperatorAccount>(operatorPath('accounts', accountId, 'price-group'), change),
  );
}

export function useSuspension(accountId: string, action: 'suspend' | 'resume') {
  return useOperatorMutation<void, OperatorAccount>(() => post(operatorPath('accounts', accountId, action)));
}
