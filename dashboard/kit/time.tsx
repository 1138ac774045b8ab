/** Points in time in the viewer's zone, with UTC on hover, and lengths of time. */
import { useEffect, useState } from 'react';
import { formatDistance, formatDuration, formatTime, formatUtc, type TimeStyle } from './format-figures.ts';

const tickMs = 30_000;

type TimeProps = Readonly<{
  /** ISO 8601 as the API says it. Null shows `otherwise`. */
  at: string | null;
  style?: TimeStyle | 'distance';
  otherwise?: string;
}>;

export function Time({ at, style = 'moment', otherwise = '–' }: TimeProps) {
  if (at === null) return <span className="text-ink-faint">{otherwise}</span>;
  const instant = new Date(at);
  return (
    <time dateTime={at} title={titleOf(instant, style)} className="whitespace-nowrap">
      {style === 'distance' ? <Distance instant={instant} /> : formatTime(instant, style)}
    </time>
  );
}

function titleOf(instant: Date, style: TimeStyle | 'distance'): string {
  const utc = formatUtc(instant);
  return style === 'distance' ? `${formatTime(instant, 'exact')} · ${utc}` : utc;
}

function Distance({ instant }: Readonly<{ instant: Date }>) {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), tickMs);
    return () => clearInterval(timer);
  }, []);
  return formatDistance(instant, now) ?? formatTime(instant, 'date');
}

export function Duration({ ms }: Readonly<{ ms: number | null }>) {
  if (ms === null) return <span className="text-ink-faint">–</span>;
  return (
    <span title={`${ms} ms`} className="figures whitespace-nowrap">
      {formatDuration(ms)}
    </span>
  );
}
