import { Search, X } from 'lucide-react';
import { type KeyboardEvent, useEffect, useState } from 'react';
import { classNames } from './class-names.ts';
import { controlClass } from './field.tsx';

const pauseMs = 200;

type SearchInputProps = Readonly<{
  /** What is searched, as its accessible name: "Search keys". */
  label: string;
  value: string;
  /** Called once the writer pauses, and at once when the field is emptied. */
  onSearch: (text: string) => void;
  placeholder?: string;
  className?: string;
}>;

export function SearchInput({ label, value, onSearch, placeholder = label, className }: SearchInputProps) {
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  // Another value from outside, such as a step back in the history, replaces what is written here.
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
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={keepEnter}
        className={classNames(controlClass, 'h-9 pr-8 pl-8.5')}
      />
      {text !== '' && (
        <button
          type="button"
          aria-label="Clear the search"
          onClick={() => setText('')}
          className="absolute top-1/2 right-1.5 grid size-6 -translate-y-1/2 place-items-center rounded text-ink-faint hover:text-ink"
        >
          <X aria-hidden className="size-3.5" />
        </button>
      )}
    </span>
  );
}

/** Whoever ends a search with Enter wants to see what was found, not to send the form around it. */
function keepEnter(event: KeyboardEvent): void {
  if (event.key === 'Enter') event.preventDefault();
}
