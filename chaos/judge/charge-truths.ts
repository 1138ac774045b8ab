/** What must be true of every charge, and of everything that was not charged. */
import { formatMoney } from '../../src/lib/money.ts';
import { holdTolerance, readingsOf } from '../world/bounds.ts';
import { hastyProviders, priceOf } from '../world/catalog.ts';
import {
  callToCharge,
  dueFor,
  excuseOf,
  isCharged,
  isPaid,
  isReadOn,
  isSameUsage,
  keptCharge,
  reasonOf,
  standingCharge,
  usedCalls,
} from './billing.ts';
import type { Evidence } from './evidence.ts';
import type { RecordedGeneration } from './ledger-log.ts';
import { checkEach, describe, summary, type Truth } from './truth.ts';

export function judgeCharges(evidence: Evidence): Truth[] {
  const all = [...evidence.ledger.generations.values()];
  const charged = all.filter(({ charges }) => charges.length > 0);
  const paid = charged.filter(isPaid);
  const estimated = paid.filter(({ isEstimated }) => isEstimated);
  const reported = paid.filter(({ isEstimated }) => !isEstimated);
  return [
    {
      says: 'at most one charge per Generation, and none without one',
      checked: charged.length,
      wrong: [
        ...charged.filter(({ charges }) => charges.length > 1).map(describe),
        ...evidence.ledger.strayCharges,
      ],
    },
    checkEach(
      'each charge equals the price of the usage that the provider logged, within what was held for',
      reported,
      (generation) => wrongAmount(evidence, generation),
    ),
    checkEach('no usage, no charge', reported, (generation) =>
      dueFor(evidence, generation) === null ? describe(generation) : null,
    ),
    checkEach('no charge exceeds its hold by more than the tolerance', paid, (generation) => {
      const { hold } = generation;
      const isWithin = hold === null || standingCharge(generation) <= hold + holdTolerance(hold);
      return isWithin ? null : `${describe(generation)}, held ${formatMoney(hold)}`;
    }),
    {
      ...checkEach(
        'a charge is estimated only where the gateway ended the call, and never too high',
        estimated,
        (generation) => wrongEstimate(evidence, generation),
      ),
      mayBeUntested: true,
    },
    {
      ...checkEach(
        'a refund gives back the whole of a charge whose answer was withheld',
        all.filter(({ refunds }) => refunds.length > 0),
        (generation) => {
          const isWhole = generation.refunds.length === 1 && keptCharge(generation) === 0n;
          const isWithheld =
            reasonOf(generation) === 'failed billing_consistency_error' && !generation.streaming;
          return isWhole && isWithheld ? null : describe(generation);
        },
      ),
      mayBeUntested: true,
    },
    checkEach(
      'all refunds of a Generation together are at most its charge',
      all.filter(({ refunds, refundsByHand }) => refunds.length + refundsByHand.length > 0),
      (generation) => (keptCharge(generation) >= 0n ? null : describe(generation)),
    ),
    checkEach('usage goes uncharged only for an allowed reason', usedCalls(evidence), (used) =>
      isCharged(used) || excuseOf(evidence, used) !== null
        ? null
        : `${describe(used.generation)}, over ${used.call.provider}`,
    ),
    summary(
      'no settlement was refused by the database and set aside',
      all.length,
      evidence.ledger.deadLetters,
    ),
  ];
}

/** If a balance did not suffice, the charge and the write-off add up to the price. */
function wrongAmount(evidence: Evidence, generation: RecordedGeneration): string | null {
  const due = dueFor(evidence, generation);
  if (due === null) return null;
  const { usage, unbelieved } = due;
  const price = priceOf(usage);
  const paid = standingCharge(generation);
  const { writeOff } = generation;
  const isShort = generation.errorCode === 'insufficient_balance';
  const expected = isShort
    ? { reason: 'insufficient_balance', amount: price - paid }
    : { reason: 'implausible_usage', amount: unbelieved };
  const isBorne =
    expected.amount === 0n
      ? writeOff === null
      : writeOff?.reason === expected.reason && writeOff.amount === expected.amount;
  const isPriced = isShort ? paid < price : paid === price;
  if (isPriced && isBorne && isSameUsage(usage, generation)) return null;
  return `${describe(generation)}, but its price is ${formatMoney(price)}`;
}

/** In these runs only the total deadline ends a call that has not reported its usage, and only some providers have a short one. */
function wrongEstimate(evidence: Evidence, generation: RecordedGeneration): string | null {
  const { attempts, provider, hold } = generation;
  const attempt = attempts.at(-1);
  const call = callToCharge(evidence, generation);
  const isEndedHere =
    hastyProviders.has(provider) &&
    ((attempt?.status === 'failed' &&
      (attempt.errorCode === 'provider_timeout' || isReadOn(attempt.errorCode))) ||
      attempt?.status === 'cancelled');
  const charge = standingCharge(generation);
  const isLow =
    (hold === null || charge <= hold) &&
    (call?.usage == null || charge <= priceOf(readingsOf(call.usage)[0]));
  return isEndedHere && isLow ? null : describe(generation);
}
