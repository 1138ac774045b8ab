import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Button } from '../../kit/button.tsx';
import { Field } from '../../kit/field.tsx';
import { Input } from '../../kit/input.tsx';
import { Segmented } from '../../kit/segmented.tsx';
import { type Range, type RangeKind, rangeKinds, rangeProblem } from './range.ts';

export function RangePicker({ range }: Readonly<{ range: Range }>) {
  const navigate = useNavigate();
  const go = (kind: RangeKind, from: string, to: string) => {
    const isCustom = kind === 'custom';
    navigate({
      to: '.',
      replace: true,
      resetScroll: false,
      search: (before: Record<string, unknown>) => ({
        ...before,
        range: kind === '30' ? undefined : kind,
        from: isCustom ? from : undefined,
        to: isCustom ? to : undefined,
      }),
    }).catch(() => {});
  };
  return (
    <div className="min-w-0 space-y-3">
      <Segmented
        label="Which days"
        value={range.kind}
        options={rangeKinds}
        onChange={(kind) => go(kind, range.from, range.to)}
        className="max-w-full max-sm:flex max-sm:[&>label]:px-1"
      />
      {range.kind === 'custom' && (
        <CustomRange
          key={`${range.from} ${range.to}`}
          range={range}
          onChoose={(from, to) => go('custom', from, to)}
        />
      )}
    </div>
  );
}

type CustomRangeProps = Readonly<{ range: Range; onChoose: (from: string, to: string) => void }>;

function CustomRange({ range, onChoose }: CustomRangeProps) {
  const [from, setFrom] = useState(range.from);
  const [to, setTo] = useState(range.to);
  const [isTried, setTried] = useState(false);
  const problem = rangeProblem(from, to);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (problem === null) onChoose(from, to);
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-wrap items-end gap-3">
      <Field label="From" className="w-40">
        <Input type="date" value={from} onChange={(event) => setFrom(event.target.value)} />
      </Field>
      <Field label="To" className="w-40">
        <Input type="date" value={to} onChange={(event) => setTo(event.target.value)} />
      </Field>
      <Button type="submit">Show</Button>
      <p role="alert" className="w-full text-xs font-medium text-bad empty:hidden">
        {isTried ? problem : null}
      </p>
    </form>
  );
}
