import { useMutation } from '@tanstack/react-query';
import type { Audit, DeadLetters, OperatorAction } from '../../../../src/console/operator-contract.ts';
import { post } from '../../../api/client.ts';
import { operatorPath, useOperatorQuery } from '../operator-query.ts';

export function useActions() {
  return useOperatorQuery<{ data: OperatorAction[] }>(['actions']);
}

const attentionEveryMs = 60_000;

export function useDeadLetters() {
  return useOperatorQuery<DeadLetters>(['dead-letters'], { refetchInterval: attentionEveryMs });
}

/** Changes nothing, so nothing has to be fetched again. */
export function useAudit() {
  return useMutation({ mutationFn: () => post<Audit>(operatorPath('ledger-audit')) });
}
