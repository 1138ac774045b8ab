/** Which days are looked at, as the address of the page says it. Days are UTC and belong to no zone. */
export const rangeKinds = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: 'month', label: 'Month', name: 'This month' },
  { value: 'custom', label: 'Custom' },
] as const;

export type RangeKind = (typeof rangeKinds)[number]['value'];
export type Range = Readonly<{ kind: RangeKind; from: string; to: string }>;

export const mostDays = 366;
const dayMs = 86_400_000;

/** What cannot be understood is the last 30 days. */
export function rangeIn(search: Readonly<Record<string, unknown>>, today: string): Range {
  const kind = rangeKinds.find(({ value }) => value === search.range)?.value ?? '30';
  if (kind === 'month') return { kind, from: `${today.slice(0, 8)}01`, to: today };
  if (kind !== 'custom') return { kind, from: addDays(today, 1 - Number(kind)), to: today };
  const { from, to } = search;
  if (typeof from === 'string' && typeof to === 'string' && rangeProblem(from, to) === null)
    return { kind, from, to };
  return { kind, from: addDays(today, -29), to: today };
}

/** Why these are no range, or null. */
export function rangeProblem(from: string, to: string): string | null {
  if (!isDay(from) || !isDay(to)) return 'Choose both days.';
  if (from > to) return 'The first day must not be after the last.';
  if (daysBetween(from, to).length > mostDays) return `Choose at most ${mostDays} days.`;
  return null;
}

/** In the years that the gateway takes. */
function isDay(text: string): boolean {
  if (!/^2[01]\d{2}-\d{2}-\d{2}$/.test(text)) return false;
  const instant = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(instant.getTime()) && dayOf(instant) === text;
}

export function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10);
}

export function addDays(day: string, count: number): string {
  return dayOf(new Date(Date.parse(`${day}T00:00:00Z`) + count * dayMs));
}

/** Every day from the first to the last, both included. */
export function daysBetween(from: string, to: string): string[] {
  const count = Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / dayMs) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, at) => addDays(from, at));
}
