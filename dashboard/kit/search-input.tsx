import { Search, X } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { classNames } from './class-names.ts';
import { controlClass, useControlNames } from './field.tsx';

const pauseMs = 200;

type SearchInputProps = Readonly<{
  /** The accessible name, such as "Search keys". */
  label: string;
  value: string;
  /** Called when typing pauses, and immediately when the field is cleared. */
  onSearch: (text: string) => void;
  placeholder?: string;
  className?: string;
}>;

export function SearchInput({ label, value, onSearch, placeholder = label, className }: SearchInputProps) {
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  // A new value from outside, such as from the browser history, replaces the text.
  if (value !== known) {
    setKnown(value);
    if (value !== text.trim()) setText(value);
  }
  useEffect(() => {
    if (text.trim() === value) return undefined;
    const timer = setTimeout(() => onSearch(text.trim()), text === '' ? 0 : pauseMs);
    return () => clearTimeout(timer);
  }, [text, value, onSearch]);
  return (
    <span className={classNames('relative block min-w-0', className)}>
      <Search
        aria-hidden
        className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-ink-faint"
      />
      <input
        ref={input}
        type="search"
        {...useControlNames()}
        aria-label={label}
        placeholder={placeholder}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={preventSubmit}
        className={classNames(controlClass, 'h-8 pr-8 pl-8 max-md:h-9')}
      />
      {text !== '' && (
        <button
          type="button"
          aria-label="Clear search"
          onClick={() => {
            // The button goes away.
            input.current?.focus();
            setText('');
          }}
          className="absolute top-1/2 right-1.5 grid size-6 -translate-y-1/2 place-items-center rounded text-ink-faint hover:text-ink"
        >
          <X aria-hidden className="size-3.5" />
        </button>
      )}
    </span>
  );
}

/** Enter must not submit a form around the search field. */
function preventSubmit(event: KeyboardEvent): void {
  if (event.key === 'Enter') event.preventDefault();
}
