import { formatDistance, formatTime } from '../../../kit/format-figures.ts';

/** In seconds as long as they count: a node lives from one heartbeat to the next. */
export function heartbeatAge(heartbeatAt: Date, now: Date): string {
  // The clock of the database may be a little ahead of the viewer's.
  const ageSeconds = Math.max(0, Math.round((now.getTime() - heartbeatAt.getTime()) / 1000));
  if (ageSeconds < 60) return `${ageSeconds} s ago`;
  return formatDistance(heartbeatAt, now) ?? formatTime(heartbeatAt, 'date');
}
