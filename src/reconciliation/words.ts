/** Explanations for a difference, in words for the operator. */
import { formatMoneyShort, moneyFromDatabase } from '../lib/money.ts';
import { preliminaryHours } from './compared.ts';
import type { PresentedExplanation } from './store.ts';

export function describeExplanation({ kind, count, amount, day, names }: PresentedExplanation): string {
  const listed = names.length === 0 ? '' : `: ${names.join(', ')}`;
  const dollars = amount === null ? '' : `$${formatMoneyShort(moneyFromDatabase(amount))}`;
  switch (kind) {
    case 'attempts_without_usage':
      return `${many(count, 'call')} ended without a usage report (cancelled, timed out or failed) and may be billed all the same${listed}.`;
    case 'without_cost':
      return `The cost of ${many(count, 'call')} is unknown: the charge is an estimate, or the catalogue did not say what the provider asks${listed}.`;
    case 'across_midnight':
      return [
        ...(count === 0 ? [] : [`${many(count, 'request')} ran across midnight (metered cost ${dollars}).`]),
        ...(day === null ? [] : [`Together with ${day} the difference is within the tolerance.`]),
      ].join(' ');
    case 'not_mapped':
      return `${dollars} was billed for models that no model of the catalogue stands for${listed}.`;
    case 'not_a_model':
      return `${dollars} was billed for something other than the tokens of a model${listed}.`;
    case 'list_price':
      return `Before discounts the bill is ${dollars}, which is the metered cost. The costs in the catalogue are list prices.`;
    case 'preliminary':
      return `The provider may still correct this day. It is read again until it is ${preliminaryHours} hours old.`;
  }
}

function many(count: number | null, what: string): string {
  return `${count ?? 0} ${what}${count === 1 ? '' : 's'}`;
}
