/** Selects one of many: a plain select while they are few, and otherwise a field that lists what matches its text. */
import { ChevronDown } from 'lucide-react';
import { type KeyboardEvent, type RefObject, useCallback, useEffect, useId, useRef, useState } from 'react';
import { classNames } from './class-names.ts';
import { controlClass, Select, useControlNames } from './field.tsx';
import { formatCount } from './format-figures.ts';

type Option = Readonly<{ value: string; label: string }>;
type PickerProps = Readonly<{
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}>;

/** More than a reader can survey. */
const maxSelect = 30;
const maxListed = 50;

export function Picker(props: PickerProps) {
  return props.options.length <= maxSelect ? <Select {...props} /> : <Combobox {...props} />;
}

/** Every word of the text has to occur in the label. */
export function matchesOf(options: readonly Option[], text: string): Option[] {
  const words = text.toLowerCase().split(/\s+/);
  return options.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}

/** Null while the list is closed; `text` is null until something is typed. */
type ListState = Readonly<{ text: string | null; activeAt: number }> | null;

/** Which options are listed, which of them is active, and what the keys do about it. */
function useOptionList({ value, options, onChange }: PickerProps) {
  const [list, setList] = useState<ListState>(null);
  const close = useCallback(() => setList(null), []);
  const matches = matchesOf(options, list?.text ?? '');
  const listed = matches.slice(0, maxListed);
  const activeAt = list?.activeAt ?? 0;
  const open = () => {
    const selectedAt = options.findIndex((option) => option.value === value);
    setList({ text: null, activeAt: selectedAt < maxListed ? Math.max(0, selectedAt) : 0 });
  };
  const search = (text: string) => setList({ text, activeAt: 0 });
  const choose = (option: Option | undefined) => {
    if (option === undefined) return;
    close();
    onChange(option.value);
  };
  const pressKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (list === null) return open();
      const next = activeAt + (event.key === 'ArrowDown' ? 1 : -1);
      setList({ ...list, activeAt: Math.max(0, Math.min(listed.length - 1, next)) });
    } else if (event.key === 'Enter' && list !== null) {
      event.preventDefault();
      choose(listed[activeAt]);
    } else if (event.key === 'Escape' && list !== null) {
      // A dialog around it stays open.
      event.preventDefault();
      close();
    }
  };
  const hiddenCount = matches.length - listed.length;
  return { list, listed, hiddenCount, activeAt, open, close, search, choose, pressKey };
}

function Combobox(props: PickerProps) {
  const { value, options } = props;
  const { list, listed, hiddenCount, activeAt, open, close, search, choose, pressKey } = useOptionList(props);
  const listId = useId();
  const input = useRef<HTMLInputElement>(null);
  return (
    <span className="relative block min-w-0">
      <input
        {...useControlNames()}
        ref={input}
        role="combobox"
        autoComplete="off"
        spellCheck={false}
        aria-expanded={list !== null}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={list !== null && listed.length > 0 ? `${listId}-${activeAt}` : undefined}
        value={list?.text ?? labelOf(options, value)}
        onChange={(event) => search(event.target.value)}
        onClick={(event) => {
          if (list !== null) return;
          event.currentTarget.select();
          open();
        }}
        onKeyDown={pressKey}
        onBlur={close}
        className={classNames(controlClass, 'h-8 truncate pr-8 pl-2.5 max-md:h-9')}
      />
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2.5 size-4 -translate-y-1/2 text-ink-faint"
      />
      {list !== null && (
        <OptionList
          id={listId}
          anchor={input}
          options={listed}
          hiddenCount={hiddenCount}
          selected={value}
          activeAt={activeAt}
          onChoose={choose}
          onMoved={close}
        />
      )}
    </span>
  );
}

function labelOf(options: readonly Option[], value: string): string {
  return options.find((option) => option.value === value)?.label ?? '';
}

type OptionListProps = Readonly<{
  id: string;
  /** The field that it belongs to. */
  anchor: RefObject<HTMLElement | null>;
  options: readonly Option[];
  hiddenCount: number;
  selected: string;
  activeAt: number;
  onChoose: (option: Option) => void;
  /** The field is no longer where the list was placed. */
  onMoved: () => void;
}>;

/** A popover, because the cards cut off what leaves them. */
function OptionList(props: OptionListProps) {
  const { id, anchor, options, hiddenCount, selected, activeAt, onChoose, onMoved } = props;
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const list = ref.current;
    const field = anchor.current;
    if (list === null || field === null) return undefined;
    const { left, bottom, width } = field.getBoundingClientRect();
    Object.assign(list.style, { left: `${left}px`, top: `${bottom + 4}px`, minWidth: `${width}px` });
    list.showPopover();
    const close = (event: Event) => {
      if (!(event.target instanceof Node && list.contains(event.target))) onMoved();
    };
    window.addEventListener('scroll', close, true);
    window.addEventListener('resize', close);
    return () => {
      window.removeEventListener('scroll', close, true);
      window.removeEventListener('resize', close);
      list.hidePopover();
    };
  }, [anchor, onMoved]);
  useEffect(() => {
    document.getElementById(`${id}-${activeAt}`)?.scrollIntoView({ block: 'nearest' });
  }, [id, activeAt]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only keeps the focus in the field, so that typing goes on.
    <div
      ref={ref}
      popover="manual"
      onMouseDown={(event) => event.preventDefault()}
      className="fixed inset-auto m-0 max-w-[calc(100vw-1rem)] rounded-lg bg-raised p-1 text-sm text-ink shadow-float"
    >
      <div id={id} role="listbox" aria-label="Matches" className="max-h-64 overflow-y-auto">
        {options.map((option, at) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus and names the active option.
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
          <div
            key={option.value}
            id={`${id}-${at}`}
            role="option"
            aria-selected={option.value === selected}
            onClick={() => onChoose(option)}
            className={classNames(
              'cursor-pointer truncate rounded-md px-2.5 py-1.5 hover:bg-hover aria-selected:font-medium',
              at === activeAt && 'bg-hover',
            )}
          >
            {option.label}
          </div>
        ))}
      </div>
      {options.length === 0 && <p className="px-2.5 py-1.5 text-ink-soft">No matches.</p>}
      {hiddenCount > 0 && (
        <p className="border-t border-line px-2.5 pt-1.5 pb-1 text-xs text-ink-faint">
          {formatCount(hiddenCount)} more. Type to narrow down.
        </p>
      )}
    </div>
  );
}
