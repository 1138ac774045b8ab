import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

type NameWithNoteProps = Readonly<{
  name: ReactNode;
  note?: ReactNode;
  /** In a table of many columns, where there is little room. */
  isShort?: boolean;
  /** In a table of few columns, where there is much. */
  isLong?: boolean;
}>;

/** A name and what else there is to say: on one line in a wide table, and below it where a row is a block. */
export function NameWithNote({ name, note, isShort = false, isLong = false }: NameWithNoteProps) {
  return (
    <span className="md:flex md:flex-wrap md:items-baseline md:gap-x-2">
      <span
        className={classNames(
          'block font-medium md:truncate',
          isShort ? 'md:max-w-36' : isLong ? 'md:max-w-80' : 'md:max-w-52',
          isLong ? 'xl:max-w-136' : 'xl:max-w-72',
        )}
      >
        {name}
      </span>
      {Boolean(note) && (
        <span
          className={classNames(
            'block text-ink-faint md:max-xl:hidden xl:truncate',
            isLong ? 'xl:max-w-96' : 'xl:max-w-64',
          )}
        >
          {note}
        </span>
      )}
    </span>
  );
}
