/** The figures of many calls to a provider. */
import type { AttemptFigures } from '../../../../src/console/request-contract.ts';

type Outcomes = Pick<AttemptFigures, 'succeeded' | 'failed' | 'rejected' | 'cancelled'>;

export function countCalls({ succeeded, failed, cancelled }: Outcomes): number {
  return succeeded + failed + cancelled;
}

/** Of those that ended by themselves, without those that it was right to reject; null without any. */
export function successOfCalls({ succeeded, failed, rejected }: Outcomes): number | null {
  const counted = succeeded + failed - rejected;
  return counted === 0 ? null : succeeded / counted;
}
