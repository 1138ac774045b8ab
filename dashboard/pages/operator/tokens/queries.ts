import type {
  AdminToken,
  AdminTokenDraft,
  NewAdminToken,
} from '../../../../src/console/operator-contract.ts';
import { post } from '../../../api/client.ts';
import { operatorPath, useOperatorMutation, useOperatorQuery } from '../operator-query.ts';

export function useTokens() {
  return useOperatorQuery<{ data: AdminToken[] }>(['tokens']);
}

export function useCreateToken() {
  return useOperatorMutation((draft: AdminTokenDraft) => post<NewAdminToken>(operatorPath('tokens'), draft));
}

export function useRevokeToken(id: string) {
  return useOperatorMutation<void, AdminToken>(() => post(operatorPath('tokens', id, 'revoke')));
}
