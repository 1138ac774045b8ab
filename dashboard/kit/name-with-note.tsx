import type { ReactNode } from 'react';

/** A name and what else there is to say: on one line in a wide table, and below it where a row is a block. */
export function NameWithNote({ name, note }: Readonly<{ name: ReactNode; note?: ReactNode }>) {
  return (
    <span className="md:flex md:items-baseline md:gap-2">
      <span className="block font-medium md:max-w-52 md:truncate xl:max-w-72">{name}</span>
      {Boolean(note) && (
        <span className="block text-ink-faint md:max-xl:hidden xl:max-w-64 xl:truncate">{note}</span>
      )}
    </span>
  );
}
