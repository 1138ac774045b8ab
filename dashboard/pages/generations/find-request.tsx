/** Takes a request ID, as it stands in a log or in an answer's header, and goes to that request. */
import { useNavigate } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { type FormEvent, useId, useState } from 'react';
import { Button } from '../../kit/button.tsx';
import { classNames } from '../../kit/class-names.ts';
import { controlClass } from '../../kit/field.tsx';

export function FindById() {
  const [text, setText] = useState('');
  const [isRefused, setRefused] = useState(false);
  const navigate = useNavigate();
  const id = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const requestId = requestIdIn(text);
    setRefused(requestId === null);
    if (requestId !== null) navigate({ to: '/generations/$id', params: { id: requestId } }).catch(() => {});
  };
  return (
    <search className="w-full sm:w-96">
      <form onSubmit={submit} noValidate className="relative flex gap-2">
        <Search
          aria-hidden
          className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-ink-faint"
        />
        <input
          type="search"
          aria-label="Find a request by its ID"
          aria-invalid={isRefused || undefined}
          aria-describedby={isRefused ? id : undefined}
          placeholder="Request ID (req_…)"
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setRefused(false);
          }}
          className={classNames(controlClass, 'h-9 pr-3 pl-8.5')}
        />
        <Button type="submit">Find</Button>
      </form>
      {isRefused && (
        <p id={id} role="alert" className="mt-1.5 text-xs font-medium text-bad">
          A request ID is “req_” and 32 digits or letters from a to f.
        </p>
      )}
    </search>
  );
}

/** The request ID in whatever was pasted: alone, in a header line, or in an address. Null when there is none. */
export function requestIdIn(text: string): string | null {
  return /\breq_[0-9a-f]{32}\b/i.exec(text)?.[0].toLowerCase() ?? null;
}
