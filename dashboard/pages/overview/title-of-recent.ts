import { formatCount } from '../../kit/format-figures.ts';

/** The gateway counts the newest of the requests only: at so many there may be more that it did not count. */
const mostRecent = 10_000;

export function titleOfRecent(requests: number): string {
  const period = 'The last 24 hours';
  return requests < mostRecent ? period : `${period}: the newest ${formatCount(mostRecent)} requests`;
}
