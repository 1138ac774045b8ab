import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

type NameWithNoteProps = Readonly<{
  name: ReactNode;
  note?: ReactNode;
  /** In a table of many columns, where there is little room. */
  isShort?: boolean;
  /** In a table of few columns, where there is much. */
  isLong?: boolean;
  /**
   * Where the note is on a screen that is neither narrow nor wide: next to the name if its column has the room, or below it
   * if the rows have several lines anyway.
   */
  noteBetween?: 'hidden' | 'beside' | 'below';
}>;

const rowClasses = {
  hidden: 'md:flex md:flex-wrap md:items-baseline md:gap-x-2',
  beside: 'md:flex md:items-baseline md:gap-x-2 xl:flex-wrap',
  below: 'xl:flex xl:flex-wrap xl:items-baseline xl:gap-x-2',
} as const;

const noteClasses = {
  hidden: 'md:max-xl:hidden xl:truncate',
  beside: 'md:truncate',
  below: 'md:max-w-36 md:truncate',
} as const;

/** Next to each other, after the header of their column. */
const inlineClass = 'max-md:in-[td[data-inline]]:inline';

/** A name and what else there is to say: on one line in a wide table, and below it where a row is a block. */
export function NameWithNote({
  name,
  note,
  isShort = false,
  isLong = false,
  noteBetween = 'hidden',
}: NameWithNoteProps) {
  return (
    <span className={rowClasses[noteBetween]}>
      <span
        className={classNames(
          'block font-medium md:truncate max-md:in-[td[data-inline]]:mr-1.5',
          inlineClass,
          isShort ? 'md:max-w-36' : isLong ? 'md:max-w-80' : 'md:max-w-52',
          isLong ? 'xl:max-w-136' : 'xl:max-w-72',
        )}
      >
        {name}
      </span>
      {Boolean(note) && (
        <span
          className={classNames(
            'block text-ink-faint',
            inlineClass,
            noteClasses[noteBetween],
            isLong ? 'xl:max-w-96' : 'xl:max-w-64',
          )}
        >
          {note}
        </span>
      )}
    </span>
  );
}
