/** Adds or changes a filter: first which one, then its value, from those that occur in the range where they can be listed. */
import { useQuery } from '@tanstack/react-query';
import { ChevronLeft } from 'lucide-react';
import { type FormEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import type { Key } from '../../../src/console/contract.ts';
import type { RequestGroups } from '../../../src/console/request-contract.ts';
import { get } from '../../api/client.ts';
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

type ListedOption = Readonly<{ value: string; label: string; count: number | null }>;

function ListedValue({ kind, view, onApply }: ValueEditorProps) {
  const groups = useGroups(view, kind.name, kind.groupedBy);
  const unused = useUnusedKeys(kind.name === 'key');
  const [text, setText] = useState('');
  const wanted = text.trim();
  const options = matchesOf([...optionsOf(groups.data), ...unused], wanted);
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
        <Option
          key={value}
          onPick={() => onApply(value)}
          aside={count === null ? undefined : formatCount(count)}
        >
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

/** A key can be asked for before it was used. Those of other accounts are too many to be listed. */
function useUnusedKeys(isWanted: boolean): ListedOption[] {
  const { isOperator, queryKey, pathOf } = useScope();
  const keys = useQuery({
    queryKey: [...queryKey, 'keys', {}],
    queryFn: ({ signal }) => get<{ data: Key[] }>(pathOf('keys'), { signal }),
    enabled: isWanted && !isOperator,
  });
  if (!isWanted) return [];
  return (keys.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name, count: null }));
}

const maxListed = 50;

export function optionsOf(groups: RequestGroups | undefined): ListedOption[] {
  return (groups?.data ?? []).flatMap(({ value, name, ...figures }) =>
    value === null || value === '' ? [] : [{ value, label: name ?? value, count: countRequests(figures) }],
  );
}

/** Each once, those with a count first. */
export function matchesOf(options: readonly ListedOption[], text: string): ListedOption[] {
  const wanted = text.toLowerCase();
  const listed = new Map<string, ListedOption>();
  for (const option of options) {
    const isMatch = option.label.toLowerCase().includes(wanted) || option.value.toLowerCase() === wanted;
    if (isMatch && !listed.has(option.value)) listed.set(option.value, option);
  }
  return [...listed.values()].slice(0, maxListed);
}

type OptionProps = Readonly<{ onPick: () => void; aside?: string | undefined; children: ReactNode }>;

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
