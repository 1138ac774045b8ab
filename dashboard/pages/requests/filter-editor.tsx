/** Adds or changes a filter: first which one, then its value, from those that occur in the range where they can be listed. */
import { ChevronLeft } from 'lucide-react';
import { type FormEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import type { RequestGroups } from '../../../src/console/request-contract.ts';
import { Button, IconButton } from '../../kit/button.tsx';
import { Input } from '../../kit/field.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { countRequests } from './figures.ts';
import { type FilterKind, filterKindOf, filterKindsFor } from './filters.ts';
import { useGroups } from './queries.ts';
import { useScope } from './scope.ts';
import type { Filter, View } from './view.ts';

type FilterEditorProps = Readonly<{
  view: View;
  /** Null for the list of filters. */
  name: string | null;
  onChoose: (name: string | null) => void;
  onApply: (filter: Filter) => void;
}>;

export function FilterEditor({ view, name, onChoose, onApply }: FilterEditorProps) {
  const { isOperator } = useScope();
  const ref = useRef<HTMLDivElement>(null);
  // The first control of each step takes the focus, because what was pressed is gone.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step takes the focus.
  useEffect(() => {
    const find = (selector: string) => ref.current?.querySelector<HTMLElement>(selector);
    (find('input') ?? find('[data-option]'))?.focus();
  }, [name]);
  const kind = name === null ? undefined : (filterKindOf(name) ?? { name, label: name, placeholder: '' });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys move between the buttons in it.
    <div ref={ref} onKeyDown={moveBetweenOptions}>
      {kind === undefined ? (
        filterKindsFor(isOperator).map(({ name: one, label }) => (
          <Option key={one} onPick={() => onChoose(one)}>
            {label}
          </Option>
        ))
      ) : (
        <>
          <p className="flex items-center gap-1 pb-1 text-[0.8125rem] font-medium">
            <IconButton
              icon={ChevronLeft}
              label="All filters"
              onClick={() => onChoose(null)}
              className="size-7"
            />
            {kind.label}
          </p>
          <ValueEditor
            key={kind.name}
            kind={kind}
            view={view}
            onApply={(value) => onApply({ name: kind.name, value })}
          />
        </>
      )}
    </div>
  );
}

function moveBetweenOptions(event: KeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>('input, [data-option]')];
  const at = stops.indexOf(document.activeElement as HTMLElement);
  event.preventDefault();
  stops.at(Math.max(0, Math.min(stops.length - 1, at + step)))?.focus();
}

type ValueEditorProps = Readonly<{ kind: FilterKind; view: View; onApply: (value: string) => void }>;

function ValueEditor({ kind, view, onApply }: ValueEditorProps) {
  if (kind.options !== undefined)
    return kind.options.map(({ value, label }) => (
      <Option key={value} onPick={() => onApply(value)}>
        {label}
      </Option>
    ));
  return kind.groupedBy === undefined ? (
    <TextValue kind={kind} view={view} onApply={onApply} />
  ) : (
    <ListedValue kind={kind} view={view} onApply={onApply} />
  );
}

function TextValue({ kind, view, onApply }: ValueEditorProps) {
  const [text, setText] = useState(view.filters.find(({ name }) => name === kind.name)?.value ?? '');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== '') onApply(text.trim());
  };
  return (
    <form onSubmit={submit} noValidate className="flex gap-1.5 p-1">
      <Input
        aria-label={kind.label}
        placeholder={kind.placeholder}
        value={text}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit">Apply</Button>
    </form>
  );
}

type ListedOption = Readonly<{ value: string; label: string; count: number }>;

function ListedValue({ kind, view, onApply }: ValueEditorProps) {
  const groups = useGroups(view, kind.name, kind.groupedBy);
  const [text, setText] = useState('');
  const wanted = text.trim();
  const options = matchesOf(optionsOf(groups.data), wanted);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const value = options[0]?.value ?? wanted;
    if (wanted !== '' && value !== '') onApply(value);
  };
  return (
    <>
      <form onSubmit={submit} noValidate className="p-1">
        <Input
          aria-label={kind.label}
          placeholder={kind.placeholder}
          value={text}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setText(event.target.value)}
        />
      </form>
      {options.map(({ value, label, count }) => (
        <Option key={value} onPick={() => onApply(value)} aside={formatCount(count)}>
          {label}
        </Option>
      ))}
      {wanted !== '' && !options.some(({ value }) => value === wanted) && (
        <Option onPick={() => onApply(wanted)}>Exactly “{wanted}”</Option>
      )}
      {wanted === '' && options.length === 0 && (
        <p role="status" className="px-2.5 py-1.5 text-xs text-ink-faint">
          {groups.isPending ? 'Loading …' : 'None in this range. You can type one.'}
        </p>
      )}
    </>
  );
}

export function optionsOf(groups: RequestGroups | undefined): ListedOption[] {
  return (groups?.data ?? []).flatMap(({ value, name, ...figures }) =>
    value === null || value === '' ? [] : [{ value, label: name ?? value, count: countRequests(figures) }],
  );
}

export function matchesOf(options: readonly ListedOption[], text: string): ListedOption[] {
  const wanted = text.toLowerCase();
  return options.filter(
    ({ value, label }) => label.toLowerCase().includes(wanted) || value.toLowerCase() === wanted,
  );
}

type OptionProps = Readonly<{ onPick: () => void; aside?: string; children: ReactNode }>;

function Option({ onPick, aside, children }: OptionProps) {
  return (
    <button
      type="button"
      data-option
      onClick={onPick}
      className="flex w-full items-center justify-between gap-3 rounded-md px-2.5 py-1.5 text-left text-[0.8125rem] -outline-offset-2 hover:bg-hover focus-visible:bg-hover"
    >
      <span className="min-w-0 truncate">{children}</span>
      {aside !== undefined && <span className="figures text-xs text-ink-faint">{aside}</span>}
    </button>
  );
}
