import { useMutation } from '@tanstack/react-query';
import type { Audit, OperatorAction } from '../../../../src/console/operator-contract.ts';
import { post } from '../../../api/client.ts';
import { operatorPath, useOperatorQuery } from '../operator-query.ts';

export function useActions() {
  return useOperatorQuery<{ data: OperatorAction[] }>(['actions']);
}

/** Changes nothing, so nothing has to be fetched again. */
export function useAudit() {
  return useMutation({ mutationFn: () => post<Audit>(operatorPath('ledger-audit')) });
}
