import type {
  AccountCorrection,
  BookedMovement,
  GenerationRefund,
} from '../../../../src/console/operator-contract.ts';
import { post } from '../../../api/client.ts';
import { operatorPath, useOperatorMutation } from '../operator-query.ts';

/** What is moved: from an account, as a whole or because of one of its entries, or back for a request. */
export type Subject =
  | Readonly<{ kind: 'correction'; accountId: string; entryNumber: number | null }>
  | Readonly<{ kind: 'undo'; accountId: string; entryNumber: number }>
  | Readonly<{ kind: 'refund'; requestId: string }>;

/** Without an amount, all that is left of the entry or of the charge. */
export type Order = Readonly<{
  amount: string | null;
  reason: string;
  reference: string;
  is_preview: boolean;
}>;

/** A preview changes nothing. What is booked changes figures on many pages. */
export function useMovement(subject: Subject) {
  return useOperatorMutation((order: Order) =>
    subject.kind === 'refund'
      ? post<BookedMovement>(operatorPath('generations', subject.requestId, 'refunds'), {
          ...order,
        } satisfies GenerationRefund)
      : post<BookedMovement>(operatorPath('accounts', subject.accountId, 'corrections'), {
          ...order,
          entry_number: subject.entryNumber,
          request_id: null,
        } satisfies AccountCorrection),
  );
}
