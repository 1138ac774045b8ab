/** Why a movement was not booked: the error for programs and the dashboard, and the sentence for everyone. */
import type { ErrorCode } from '../errors.ts';
import { formatMoneyShort } from '../lib/money.ts';
import type { Refused } from './movements.ts';

export type Refusal = Readonly<{
  code: ErrorCode;
  message: string;
  param?: 'amount' | 'entry_number' | 'reference';
}>;

export function refusalOf(refused: Refused): Refusal {
  switch (refused.outcome) {
    case 'denied':
      return { code: 'permission_denied', message: 'Only operators may move money.' };
    case 'no_account':
      return { code: 'account_not_found', message: 'There is no such account.' };
    case 'no_generation':
      return { code: 'generation_not_found', message: 'This account has no request with this ID.' };
    case 'no_entry':
      return { code: 'entry_not_found', message: 'This account has no such entry, or it is archived.' };
    case 'not_undoable':
      return {
        code: 'invalid_parameter',
        param: 'entry_number',
        message: 'Only a credit or a correction can be undone. A charge can be refunded.',
      };
    case 'nothing_left':
      return { code: 'nothing_left', message: nothingLeft[refused.kind] };
    case 'too_large':
      return {
        code: 'amount_too_large',
        param: 'amount',
        message: `${tooLarge[refused.kind]} ${formatMoneyShort(refused.possible)} USD.`,
      };
    case 'different':
      return {
        code: 'reference_in_use',
        param: 'reference',
        message: `This reference was used for another movement of this account, of ${formatMoneyShort(refused.earlier)} USD. A new one needs a new reference.`,
      };
  }
}

const nothingLeft = {
  correction: 'Nothing is left of this entry: it was undone or corrected before.',
  refund:
    'Nothing of this request can be refunded: it was not charged, or it was refunded before, or its charge is archived. An archived charge can be corrected.',
} as const;

const tooLarge = {
  correction:
    'The balance must cover what is held for requests in progress. The most that can be taken now is',
  refund: 'The most that can be refunded is what was charged for this request and not refunded yet:',
} as const;
