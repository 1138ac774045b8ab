/** What happened to the money of a request, in a sentence or two. */
import type { GenerationDetail } from '../../../src/console/contract.ts';
import { aboutEstimates } from '../../kit/estimated-mark.tsx';
import { formatMoneyExactly } from '../../kit/format-money.ts';
import { signOfMoney } from '../../kit/sum-money.ts';

type MoneyOutcome = Readonly<{
  label: 'Held' | 'Charged' | 'Charged in part' | 'Refunded' | 'Written off' | 'Not charged';
  tone: 'accent' | 'good' | 'warn' | 'plain';
  text: string;
}>;

// biome-ignore format: one line a reason is what makes this table readable.
const reasons = new Map<string, string>([
  ['usage_missing', 'The provider did not say how much was used, and what is not known is not charged.'],
  ['insufficient_balance', 'The balance did not cover it.'],
  ['interrupted', 'The gateway stopped before the request was finished.'],
]);

/** Reasons that leave the charge as it is: what was delivered is paid for, and the rest is nobody's debt. */
const withoutShare: ReadonlySet<string | null> = new Set([null, 'implausible_usage']);

export function describeMoney(ledger: GenerationDetail['ledger']): MoneyOutcome {
  if (ledger === null) {
    return {
      label: 'Held',
      tone: 'accent',
      text: 'Nothing is charged yet. What the request can cost at most is held until it ends.',
    };
  }
  if (ledger.refunded !== null) {
    return {
      label: 'Refunded',
      tone: 'plain',
      text: `${formatMoneyExactly(ledger.charged)} was taken from the balance and given back, because the response could not be delivered.`,
    };
  }
  if (ledger.is_estimated) {
    const { text, ...outcome } = describeEnding({ ...ledger, write_off_reason: estimatedReason(ledger) });
    return { ...outcome, text: `${text} ${aboutEstimates}` };
  }
  return describeEnding(ledger);
}

type Ended = NonNullable<GenerationDetail['ledger']>;

/** An estimate takes the place of the usage that is missing: only what the balance did not cover is left to be told. */
function estimatedReason({ write_off_reason: reason }: Ended): string | null {
  return reason === 'usage_missing' ? null : reason;
}

function describeEnding(ledger: Ended): MoneyOutcome {
  const isCharged = signOfMoney(ledger.charged) > 0;
  const reason = reasons.get(ledger.write_off_reason ?? '') ?? '';
  const loss = ledger.written_off === null ? '' : formatMoneyExactly(ledger.written_off);
  if (withoutShare.has(ledger.write_off_reason)) {
    return isCharged
      ? { label: 'Charged', tone: 'good', text: 'The total was taken from the balance, once.' }
      : {
          label: 'Not charged',
          tone: 'plain',
          text: 'Nothing was taken from the balance. What was held is free again.',
        };
  }
  if (isCharged) {
    return {
      label: 'Charged in part',
      tone: 'warn',
      text: `${formatMoneyExactly(ledger.charged)} was taken from the balance, and ${loss || 'the rest'} was written off. ${reason}`.trim(),
    };
  }
  return {
    label: 'Written off',
    tone: 'warn',
    text: `Nothing was taken from the balance${loss === '' ? '' : `: ${loss} was written off`}. ${reason}`.trim(),
  };
}
