import { type FormEvent, useState } from 'react';
import { useReplaceSearch } from '../../address.ts';
import { Button } from '../../kit/button.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { Field, Input } from '../../kit/field.tsx';
import { formatDays } from '../../kit/format-figures.ts';

export function RangePicker({ range }: Readonly<{ range: Range }>) {
  const replace = useReplaceSearch();
  const go = (kind: RangeKind, from: string, to: string) => {
    const isCustom = kind === 'custom';
    replace((before) => ({
      ...before,
      range: kind === '30' ? undefined : kind,
      from: isCustom ? from : undefined,
      to: isCustom ? to : undefined,
    }));
  };
  return (
    <div className="min-w-0 space-y-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
        <Segmented
          label="Date range"
          value={range.kind}
          options={rangeKinds}
          onChange={(kind) => go(kind, range.from, range.to)}
          className="max-w-full max-sm:flex max-sm:w-full max-sm:[&>label]:px-1"
        />
        {/* Elsewhere, 7 days are the last 168 hours. */}
        <span className="text-xs text-ink-faint">{formatDays(range.from, range.to)}, UTC</span>
      </div>
      {range.kind === 'custom' && (
        <CustomRange range={range} onChoose={(from, to) => go('custom', from, to)} />
      )}
    </div>
  );
}

type CustomRangeProps = Readonly<{ range: Range; onChoose: (from: string, to: string) => void }>;

function CustomRange({ range, onChoose }: CustomRangeProps) {
  const [from, setFrom] = useState(range.from);
  const [to, setTo] = useState(range.to);
  const [isTried, setTried] = useState(false);
  const [known, setKnown] = useState(range);
  // Another range, such as from the browser history, replaces what is written.
  if (range.from !== known.from || range.to !== known.to) {
    setKnown(range);
    setFrom(range.from);
    setTo(range.to);
    setTried(false);
  }
  const problem = rangeProblem(from, to);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (problem === null) onChoose(from, to);
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-wrap items-end gap-3">
      <Field label="From" className="w-40 max-sm:w-33">
        <Input type="date" value={from} onChange={(event) => setFrom(event.target.value)} />
      </Field>
      <Field label="To" className="w-40 max-sm:w-33">
        <Input type="date" value={to} onChange={(event) => setTo(event.target.value)} />
      </Field>
      <Button type="submit">Show</Button>
      <p role="alert" className="w-full text-xs font-medium text-bad empty:hidden">
        {isTried ? problem : null}
      </p>
    </form>
  );
}

/** Days are UTC. */
const rangeKinds = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: 'month', label: 'Month', name: 'This month' },
  { value: 'custom', label: 'Custom' },
] as const;

type RangeKind = (typeof rangeKinds)[number]['value'];
export type Range = Readonly<{ kind: RangeKind; from: string; to: string }>;

const maxDays = 366;
const dayMs = 86_400_000;

/** The range in the address. Invalid values mean the last 30 days. */
export function rangeIn(search: Readonly<Record<string, unknown>>, today: string): Range {
  const kind = rangeKinds.find(({ value }) => value === search.range)?.value ?? '30';
  if (kind === 'month') return { kind, from: `${today.slice(0, 8)}01`, to: today };
  if (kind !== 'custom') return { kind, from: addDays(today, 1 - Number(kind)), to: today };
  const { from, to } = search;
  if (typeof from === 'string' && typeof to === 'string' && rangeProblem(from, to) === null)
    return { kind, from, to };
  return { kind, from: addDays(today, -29), to: today };
}

/** Why the range is invalid, or null. */
export function rangeProblem(from: string, to: string): string | null {
  if (!isDay(from) || !isDay(to)) return 'Choose both dates.';
  if (from > to) return 'The start date must not be after the end date.';
  if (daysBetween(from, to).length > maxDays) return `Choose at most ${maxDays} days.`;
  return null;
}

/** Within the years that the gateway accepts. */
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

/** All days from the first to the last, inclusive. */
export function daysBetween(from: string, to: string): string[] {
  const count = Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / dayMs) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, at) => addDays(from, at));
}
