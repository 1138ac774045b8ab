/** The top of the explorer: the range, the clock, whether new requests appear by themselves, and the file. */
import { Download, Pause, Radio } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useReplaceSearch } from '../../address.ts';
import { addressOf } from '../../api/client.ts';
import { AnchorButton, Button } from '../../kit/button.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { Field, Input } from '../../kit/field.tsx';
import { instantOfInput, textOfInput } from './clock-input.ts';
import { useScope } from './scope.ts';
import {
  filterQuery,
  isOpenEnded,
  type RangeKind,
  rangeKinds,
  type Times,
  timesOf,
  type View,
  withRange,
  withTimes,
} from './view.ts';

const rangeOptions: readonly { value: RangeKind | 'custom'; label: string; name?: string }[] = [
  ...rangeKinds.map(({ value, label, name }) => ({ value, label, name })),
  { value: 'custom', label: 'Custom' },
];

const clocks = [
  { value: 'local', label: 'Local' },
  { value: 'utc', label: 'UTC' },
] as const;

type ToolbarProps = Readonly<{
  view: View;
  /** The range of the list on the screen; undefined while it is being loaded. */
  times: Times | undefined;
}>;

export function Toolbar({ view, times }: ToolbarProps) {
  const replace = useReplaceSearch();
  const { range, isUtc } = view;
  const choose = (kind: RangeKind | 'custom') => {
    if (kind !== 'custom') return replace((before) => withRange(before, kind));
    const { from } = times ?? timesOf(range, Date.now());
    const nowMs = Date.now();
    const fromMs = Date.parse(from ?? '');
    return replace((before) => withTimes(before, Number.isNaN(fromMs) ? nowMs - 3_600_000 : fromMs, nowMs));
  };
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center gap-2">
        <Segmented
          label="Range"
          value={range.kind}
          options={rangeOptions}
          onChange={choose}
          className="max-w-full max-sm:w-full max-sm:[&>label]:px-1"
        />
        <Segmented
          label="Clock"
          value={isUtc ? 'utc' : 'local'}
          options={clocks}
          onChange={(clock) => replace((before) => ({ ...before, tz: clock === 'utc' ? 'utc' : undefined }))}
        />
        <LiveButton view={view} />
        <CsvButton view={view} times={times} />
      </div>
      {range.kind === 'custom' && <CustomRange from={range.from} to={range.to} isUtc={isUtc} />}
    </div>
  );
}

function LiveButton({ view }: Readonly<{ view: View }>) {
  const replace = useReplaceSearch();
  const isOn = view.isLive && isOpenEnded(view);
  return (
    <Button
      icon={isOn ? Radio : Pause}
      aria-pressed={isOn}
      disabled={!isOpenEnded(view)}
      title={isOpenEnded(view) ? undefined : 'Nothing new can appear in this range, or on this page.'}
      onClick={() => replace((before) => ({ ...before, live: view.isLive ? 'no' : undefined }))}
      className={isOn ? '[&_svg]:text-good' : undefined}
    >
      Live
    </Button>
  );
}

function CsvButton({ view, times }: ToolbarProps) {
  const { pathOf } = useScope();
  if (times === undefined) return null;
  return (
    <AnchorButton
      href={addressOf(pathOf('requests.csv'), { ...filterQuery(view.filters), ...times })}
      download
      icon={Download}
    >
      CSV
    </AnchorButton>
  );
}

type CustomRangeProps = Readonly<{ from: string | null; to: string | null; isUtc: boolean }>;

function CustomRange({ from, to, isUtc }: CustomRangeProps) {
  const replace = useReplaceSearch();
  const [fromText, setFrom] = useState(textOfInput(from, isUtc));
  const [toText, setTo] = useState(textOfInput(to, isUtc));
  const [problem, setProblem] = useState<string | null>(null);
  const shown = `${from} ${to} ${isUtc}`;
  const [known, setKnown] = useState(shown);
  // A new range from outside, such as from the chart, replaces what is written.
  if (shown !== known) {
    setKnown(shown);
    setFrom(textOfInput(from, isUtc));
    setTo(textOfInput(to, isUtc));
    setProblem(null);
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const [fromMs, toMs] = [instantOfInput(fromText, isUtc), instantOfInput(toText, isUtc)];
    if (fromMs === null || toMs === null) return setProblem('Choose both times.');
    if (fromMs >= toMs) return setProblem('The range must end after it starts.');
    return replace((before) => withTimes(before, fromMs, toMs));
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-wrap items-end gap-3">
      <Field label={isUtc ? 'From (UTC)' : 'From'} className="w-56 max-sm:w-full">
        <Input type="datetime-local" value={fromText} onChange={(event) => setFrom(event.target.value)} />
      </Field>
      <Field label={isUtc ? 'To (UTC)' : 'To'} className="w-56 max-sm:w-full">
        <Input type="datetime-local" value={toText} onChange={(event) => setTo(event.target.value)} />
      </Field>
      <Button type="submit">Show</Button>
      <p role="alert" className="w-full text-xs font-medium text-bad empty:hidden">
        {problem}
      </p>
    </form>
  );
}
