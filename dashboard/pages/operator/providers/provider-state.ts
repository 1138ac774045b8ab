/** How a provider is doing, in a few words: from the circuits of every node, and from the calls of the last hour. */
import type { ListedCircuit, Providers } from '../../../../src/console/operator-contract.ts';
import type { BadgeTone } from '../../../kit/badge.tsx';
import { formatShare } from '../../../kit/format-figures.ts';
import { toneOfErrors } from '../../requests/figures.ts';

type Provider = Providers['data'][number];
type Counts = Provider['last_hour'];

type Described = Readonly<{ tone: BadgeTone; label: string }>;

/**
 * The worst of what its circuits and its calls of the last hour show. It is good only if nothing failed in that hour, and almost
 * nothing in the day.
 */
export function describeProvider({
  circuits,
  last_hour: hour,
  last_24_hours: day,
}: Pick<Provider, 'circuits' | 'last_hour' | 'last_24_hours'>): Described {
  const states = [...circuits.map(describeCircuit), describeShare(failedShare(hour))];
  const worst = (['bad', 'warn'] as const).find((tone) => states.some((state) => state.tone === tone));
  const found = states.find(({ tone }) => tone === worst);
  if (found !== undefined) return found;
  if (hour.attempts === 0) return { tone: 'plain', label: day.attempts === 0 ? 'Not called yet' : 'Idle' };
  const isSpotless = hour.failed === 0 && circuits.length === 0 && toneOfErrors(failedShare(day)) === 'plain';
  return { tone: isSpotless ? 'good' : 'plain', label: 'Serving' };
}

function describeShare(share: number | null): Described {
  return { tone: toneOfErrors(share), label: `${formatShare(share ?? 0)} failed` };
}

type Setback = NonNullable<ListedCircuit['setback']>;

/** What only the operator can fix comes first. A closed circuit with a time means that the provider asked for a pause. */
export function describeCircuit({
  state,
  until,
  accounts_shut: shut,
  consecutive_failures: failures,
  failing_since: since,
  setback,
}: Omit<ListedCircuit, 'node' | 'model'>): Described {
  if (setback !== null) return { tone: 'bad', label: setbackLabels[setback.kind] };
  if (state === 'open') return { tone: 'bad', label: 'Circuit open' };
  // Nobody has called since: the time that has passed is no sign that it works again.
  if (state === 'half_open')
    return since === null
      ? { tone: 'warn', label: 'Half open' }
      : { tone: 'bad', label: 'Half open, no success since' };
  if (until !== null) return { tone: 'warn', label: 'Paused' };
  if (shut > 0)
    return {
      tone: 'warn',
      label: shut === 1 ? 'Circuit open for 1 account' : `Circuit open for ${shut} accounts`,
    };
  return failures > 0 ? { tone: 'warn', label: 'Failing' } : { tone: 'plain', label: 'Circuit closed' };
}

const setbackLabels: Readonly<Record<Setback['kind'], string>> = {
  key: 'Key rejected',
  credit: 'No credit',
  model: 'Unknown model',
};

export function explainSetback({ kind, upstream_status: status }: Setback): string {
  const suffix = status === null ? '' : ` (${status})`;
  switch (kind) {
    case 'key':
      return status === 403
        ? `The provider denied access${suffix}. Check the permissions of the key; some providers also deny requests because of their content.`
        : `The provider rejected the key of this gateway${suffix}. Check the key, or create a new one there.`;
    case 'credit':
      return `The provider requires payment${suffix}. Add credit to your account there.`;
    case 'model':
      return `The provider does not know the model${suffix}. It was retired, or its name in the catalogue is wrong.`;
  }
}

/** Null without attempts. */
export function failedShare({ attempts, failed }: Counts): number | null {
  return attempts === 0 ? null : failed / attempts;
}
