import { keepPreviousData, useMutation, useQueryClient } from '@tanstack/react-query';
import type { BillingMonths, MonthStatement } from '../../../src/console/billing-contract.ts';
import type { Alerts } from '../../../src/console/event-contract.ts';
import { addressOf, patch } from '../../api/client.ts';
import { accountKey, accountPath, useAccount, useAccountQuery } from '../../api/session.ts';

const refreshMs = 30_000;

export function useMonths() {
  return useAccountQuery<BillingMonths>(['billing', 'months'], { refetchInterval: refreshMs });
}

/** Only the current month changes. */
export function useMonthStatement(month: string, isOpen: boolean) {
  return useAccountQuery<MonthStatement>(['billing', 'months', month], {
    placeholderData: keepPreviousData,
    ...(isOpen ? { refetchInterval: refreshMs } : {}),
  });
}

export function useStatementFile(month: string): string {
  const { id } = useAccount();
  return addressOf(accountPath(id, 'billing', 'months', `${month}.csv`), {});
}

export function useAlerts() {
  return useAccountQuery<Alerts>('alerts');
}

export function useChangeAlerts() {
  const { id } = useAccount();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (alerts: Alerts) => patch<Alerts>(accountPath(id, 'alerts'), alerts),
    onSettled: () => queryClient.invalidateQueries({ queryKey: accountKey(id, 'alerts') }),
  });
}
