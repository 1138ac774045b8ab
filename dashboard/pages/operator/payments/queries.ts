import { keepPreviousData } from '@tanstack/react-query';
import type {
  OperatorPayment,
  OperatorPayments,
  PaymentRefund,
  StuckPayments,
} from '../../../../src/console/operator-contract.ts';
import { post } from '../../../api/client.ts';
import { operatorPath, useOperatorMutation, useOperatorQuery } from '../operator-query.ts';

export function useOperatorPayments(search: string, cursor: string | null) {
  return useOperatorQuery<OperatorPayments>(['payments'], {
    query: { search, cursor },
    placeholderData: keepPreviousData,
  });
}

export function useStuckPayments() {
  return useOperatorQuery<StuckPayments>(['payments', 'stuck']);
}

export function useRefundPayment(id: string) {
  return useOperatorMutation((refund: PaymentRefund) =>
    post<OperatorPayment>(operatorPath('payments', id, 'refunds'), refund),
  );
}

export function useCheckPayment() {
  return useOperatorMutation((id: string) => post<OperatorPayment>(operatorPath('payments', id, 'check')));
}
