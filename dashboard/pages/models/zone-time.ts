/** A time of day of one zone as that of another, as the clocks stand on the given day. */
export function timeInZone(time: string, from: string, to: string, now: Date): string {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  const day = 24 * 60;
  const shifted = hours * 60 + minutes + offsetMinutes(to, now) - offsetMinutes(from, now);
  const inDay = ((shifted % day) + day) % day;
  const two = (count: number) => `${count}`.padStart(2, '0');
  return `${two(Math.floor(inDay / 60))}:${two(inDay % 60)}`;
}

/** How far a zone is ahead of UTC. */
function offsetMinutes(zone: string, at: Date): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    hourCycle: 'h23',
  }).formatToParts(at);
  const part = (type: string) => Number(parts.find((candidate) => candidate.type === type)?.value ?? 0);
  const there = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'));
  const minuteMs = 60_000;
  return Math.round((there - Math.floor(at.getTime() / minuteMs) * minuteMs) / minuteMs);
}
