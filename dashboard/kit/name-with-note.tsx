import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

type NameWithNoteProps = Readonly<{
  name: ReactNode;
  note?: ReactNode;
  /** In a table of many columns, where there is little room. */
  isShort?: boolean;
}>;

/** A name and what else there is to say: on one line in a wide table, and below it where a row is a block. */
export function NameWithNote({ name, note, isShort = false }: NameWithNoteProps) {
  return (
    <span className="md:flex md:flex-wrap md:items-baseline md:gap-x-2">
      <span
        className={classNames(
          'block font-medium md:truncate xl:max-w-72',
          isShort ? 'md:max-w-36' : 'md:max-w-52',
        )}
      >
        {name}
      </span>
      {Boolean(note) && (
        <span className="block text-ink-faint md:max-xl:hidden xl:max-w-64 xl:truncate">{note}</span>
      )}
    </span>
  );
}
