/** Finds a request by its ID, as it appears in a log or a response header. */
import { useNavigate } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { type FormEvent, useId, useState } from 'react';
import { Button } from '../../kit/button.tsx';
import { classNames } from '../../kit/class-names.ts';
import { controlClass } from '../../kit/field.tsx';

export function FindRequest({ to }: Readonly<{ to: '/requests/$id' | '/operator/requests/$id' }>) {
  const [text, setText] = useState('');
  const [isInvalid, setInvalid] = useState(false);
  const navigate = useNavigate();
  const errorId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const id = requestIdIn(text);
    setInvalid(id === null);
    if (id !== null) navigate({ to, params: { id } }).catch(() => {});
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
          aria-invalid={isInvalid || undefined}
          aria-describedby={isInvalid ? errorId : undefined}
          placeholder="Request ID (req_…)"
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setInvalid(false);
          }}
          className={classNames(controlClass, 'h-8 pr-3 pl-8.5 max-md:h-9')}
        />
        <Button type="submit" className="max-md:h-9">
          Find
        </Button>
      </form>
      {isInvalid && (
        <p id={errorId} role="alert" className="mt-1.5 text-xs font-medium text-bad">
          A request ID is “req_” followed by 32 characters, 0–9 or a–f.
        </p>
      )}
    </search>
  );
}

/** The request ID in pasted text: alone, in a header line or in an address. Null if there is none. */
export function requestIdIn(text: string): string | null {
  return /\breq_[0-9a-f]{32}\b/i.exec(text)?.[0].toLowerCase() ?? null;
}
