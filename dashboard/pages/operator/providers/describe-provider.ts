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

/** A closed circuit with a time is one whose provider asked to be left alone for a while. */
export function describeCircuit({ state, until }: Pick<Circuit, 'state' | 'until'>): Described {
  if (state === 'open') return { tone: 'bad', label: 'Circuit open' };
  if (state === 'half_open') return { tone: 'warn', label: 'Being tried' };
  return until === null ? { tone: 'plain', label: 'Circuit closed' } : { tone: 'warn', label: 'Paused' };
}

/** From 0 to 1; null without attempts. */
export function failedShare({ attempts, failed }: Provider['last_24_hours']): number | null {
  return attempts === 0 ? null : failed / attempts;
}
