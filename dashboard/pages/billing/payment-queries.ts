import { keepPreviousData, useMutation, useQueryClient } from '@tanstack/react-query';
import type {
  AutomaticTopUpDraft,
  CheckoutDraft,
  CodeRedemption,
  Page,
  Payment,
  PaymentOptions,
  PaymentPage,
  RedeemedCode,
} from '../../../src/console/contract.ts';
import { patch, post, remove } from '../../api/client.ts';
import { accountKey, accountPath, useAccount, useAccountQuery } from '../../api/session.ts';

const refreshMs = 15_000;
const pageSize = 10;

export function usePaymentOptions() {
  return useAccountQuery<PaymentOptions>('payments', { refetchInterval: refreshMs });
}

export function usePayments(cursor: string | null) {
  return useAccountQuery<Page<Payment>>(['payments', 'orders'], {
    query: { limit: pageSize, cursor },
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });
}

/** Money has moved, or will, so everything about the account is fetched again. */
function usePaymentMutation<Input, Body>(call: (accountId: string, input: Input) => Promise<Body>) {
  const { id } = useAccount();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => call(id, input),
    onSettled: () => queryClient.invalidateQueries({ queryKey: accountKey(id) }),
  });
}

/** Leaves for the payment provider's page. */
export function useCheckout() {
  return usePaymentMutation(async (id, draft: CheckoutDraft) => {
    const { url } = await post<PaymentPage>(accountPath(id, 'payments', 'checkout'), draft);
    window.location.assign(url);
  });
}

export function usePortal() {
  return usePaymentMutation(async (id) => {
    const { url } = await post<PaymentPage>(accountPath(id, 'payments', 'portal'));
    window.location.assign(url);
  });
}

/** Leaves for the payment provider's page, where a card is saved without a payment. */
export function useSaveCard() {
  return usePaymentMutation(async (id) => {
    const { url } = await post<PaymentPage>(accountPath(id, 'payments', 'card'));
    window.location.assign(url);
  });
}

export function useCheckCard() {
  return usePaymentMutation((id, _: string) =>
    post<PaymentOptions>(accountPath(id, 'payments', 'card', 'check')),
  );
}

export function useCheckPayment() {
  return usePaymentMutation((id, order: string) =>
    post<Payment>(accountPath(id, 'payments', 'orders', order, 'check')),
  );
}

export function useRedeem() {
  return usePaymentMutation((id, body: CodeRedemption) =>
    post<RedeemedCode>(accountPath(id, 'payments', 'redeem'), body),
  );
}

export function useAutomaticTopUp() {
  return usePaymentMutation((id, draft: AutomaticTopUpDraft) =>
    patch<PaymentOptions>(accountPath(id, 'payments', 'automatic'), draft),
  );
}

export function useRemoveCard() {
  return usePaymentMutation((id) => remove<null>(accountPath(id, 'payments', 'card')));
}
