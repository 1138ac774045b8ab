/** The parts of a chaos run's evidence that most stories do not tell. */
import type { Evidence } from '../../chaos/judge/evidence.ts';

export const quietMoments: Evidence['watched'] = {
  samples: 1,
  uncoveredHolds: 0,
  unmatchedHolds: 0,
  unmatchedBalances: 0,
  exceededLimits: 0,
  unmatchedLimits: 0,
  exceededSpendLimits: 0,
  exceededConcurrency: 0,
  concurrentTopUps: 0,
  exceededCaps: 0,
};

export const nothingByHand: Pick<
  Evidence,
  | 'movements'
  | 'askedLimits'
  | 'limits'
  | 'exports'
  | 'exportable'
  | 'events'
  | 'payments'
  | 'endedGrants'
  | 'outside'
> = {
  movements: [],
  askedLimits: [],
  exports: [],
  events: { events: [], happened: [], endpoints: [], deliveries: [] },
  payments: {
    payments: [],
    charged: [],
    stripeReversals: [],
    orders: [],
    reversals: [],
    credits: [],
    takings: [],
  },
  endedGrants: [],
  outside: { accessChanges: [], grantsVoided: 0, eventsSent: 0, eventsLost: 0, rest: { ms: 0, left: [] } },
  exportable: { entries: [], usage: [], generations: [] },
  limits: { inForce: new Map(), steadyIds: [], spend: [], minutes: [] },
};
