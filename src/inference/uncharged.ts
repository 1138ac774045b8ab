/** Which calls a provider may bill although no customer is charged for them. Pure. */
import { MachineShortage } from '../providers/machine-shortage.ts';
import type { ProviderError } from '../providers/upstream.ts';

type Failure = Pick<ProviderError, 'isUnreached' | 'upstreamStatus'>;

/**
 * A provider that was never reached cannot bill, and one that rejected the call says that it did not do the work. Once a
 * call has been sent, silence or a broken connection proves nothing, and neither does an answer that nobody can read.
 */
export function mayBeBilled(failure: Failure): boolean {
  if (failure.isUnreached || failure instanceof MachineShortage) return false;
  return failure.upstreamStatus === null || failure.upstreamStatus < 300;
}
