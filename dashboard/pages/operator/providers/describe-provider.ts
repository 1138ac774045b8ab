/** How a provider is, in a word, and how each of its circuits is. */
import type { Circuit, Providers } from '../../../../src/console/operator-contract.ts';
import type { BadgeTone } from '../../../kit/badge.tsx';

type Provider = Providers['data'][number];
type Described = Readonly<{ tone: BadgeTone; label: string }>;

/** Of one that has its key: the worst that any node knows of it. */
export function describeProvider({ circuits }: Pick<Provider, 'circuits'>): Described {
  const states = circuits.map(describeCircuit);
  const worst = (['bad', 'warn'] as const).find((tone) => states.some((state) => state.tone === tone));
  return states.find(({ tone }) => tone === worst) ?? { tone: 'good', label: 'Configured' };
}

type Setback = NonNullable<Circuit['setback']>;

/** What only the operator can put right comes first. A closed circuit with a time is one whose provider asked for a pause. */
export function describeCircuit({
  state,
  until,
  accounts_shut: shut,
  setback,
}: Omit<Circuit, 'node' | 'model' | 'consecutive_failures'>): Described {
  if (setback !== null) return { tone: 'bad', label: setbackLabels[setback.kind] };
  if (state === 'open') return { tone: 'bad', label: 'Circuit open' };
  if (state === 'half_open') return { tone: 'warn', label: 'Being tried' };
  if (until !== null) return { tone: 'warn', label: 'Paused' };
  return shut > 0
    ? { tone: 'warn', label: shut === 1 ? 'Shut for 1 account' : `Shut for ${shut} accounts` }
    : { tone: 'plain', label: 'Circuit closed' };
}

const setbackLabels: Readonly<Record<Setback['kind'], string>> = {
  key: 'Key refused',
  credit: 'No credit',
  model: 'Model unknown',
};

/** What is wrong and what to do about it, in plain words. */
export function explainSetback({ kind, upstream_status: status }: Setback): string {
  const said = status === null ? '' : ` (${status})`;
  switch (kind) {
    case 'key':
      return status === 403
        ? `The provider denies access${said}. Check what its key may be used for; some providers also deny what a request says.`
        : `The provider refuses the key of this gateway${said}. Check the key, or make a new one there.`;
    case 'credit':
      return `The provider wants to be paid${said}. Add credit to your account there.`;
    case 'model':
      return `The provider does not know the model${said}. It was retired, or its name in the catalogue is wrong.`;
  }
}

/** From 0 to 1; null without attempts. */
export function failedShare({ attempts, failed }: Provider['last_24_hours']): number | null {
  return attempts === 0 ? null : failed / attempts;
}
