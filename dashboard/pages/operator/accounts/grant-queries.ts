/** How operators void grants, and create and end allowances. */
import type { Allowance } from '../../../../src/console/grant-contract.ts';
import type { AllowanceDraft, GrantVoid, VoidedGrant } from '../../../../src/console/operator-contract.ts';
import { post } from '../../../api/client.ts';
import { operatorPath, useOperatorMutation, useOperatorQuery } from '../operator-query.ts';

const previewMs = 5_000;

/** What voiding a grant would take. Requests that start and end change it. */
export function useVoidPreview(accountId: string, grantId: string) {
  return useOperatorQuery<VoidedGrant>(['accounts', accountId, 'grants', grantId, 'void'], {
    refetchInterval: previewMs,
  });
}

export function useVoidGrant(accountId: string, grantId: string) {
  return useOperatorMutation((body: GrantVoid) =>
    post<VoidedGrant>(operatorPath('accounts', accountId, 'grants', grantId, 'void'), body),
  );
}

export function useCreateAllowance(accountId: string) {
  return useOperatorMutation((draft: AllowanceDraft) =>
    post<Allowance>(operatorPath('accounts', accountId, 'allowances'), draft),
  );
}

export function useEndAllowance(accountId: string, allowanceId: string) {
  return useOperatorMutation<void, Allowance>(() =>
    post(operatorPath('accounts', accountId, 'allowances', allowanceId, 'end')),
  );
}
