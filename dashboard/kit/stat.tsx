/** One figure with its label, within a `StatGroup`. */
import { Link, type LinkProps } from '@tanstack/react-router';
import { Children, type ReactNode } from 'react';
import { classNames } from './class-names.ts';
import { Dash } from './figures.tsx';
import { Skeleton } from './states.tsx';

type StatProps = Readonly<{
  label: ReactNode;
  /** Undefined while it is being loaded; the space is reserved. */
  value: ReactNode | undefined;
  /** Whether it could not be loaded. */
  hasFailed?: boolean;
  hint?: ReactNode;
  tone?: 'plain' | 'good' | 'warn' | 'bad';
  /** Where the figure is explained. The whole of it leads there. */
  link?: Readonly<Pick<LinkProps, 'to' | 'params' | 'search'>>;
}>;

const tones = { plain: '', good: 'text-good', warn: 'text-warn', bad: 'text-bad' } as const;

export function Stat({ label, value, hasFailed = false, hint, tone = 'plain', link }: StatProps) {
  return (
    <div
      className={classNames(
        'min-w-0 px-4 py-3 shadow-[0_0_0_1px_var(--color-line)]',
        link !== undefined && 'relative transition-colors duration-100 hover:bg-hover',
      )}
    >
      <dt className="text-xs text-ink-faint">
        {link === undefined ? (
          label
        ) : (
          <Link {...link} className="rounded -outline-offset-1 after:absolute after:inset-0">
            {label}
          </Link>
        )}
      </dt>
      <dd
        className={classNames(
          'figures mt-0.5 text-lg/6 font-semibold tracking-tight wrap-anywhere',
          tones[tone],
          // It can still be selected and copied.
          link !== undefined && 'relative z-10 w-fit',
        )}
      >
        {value ?? (hasFailed ? <Dash /> : <Skeleton className="my-0.5 h-5 w-24" />)}
      </dd>
      {hint !== undefined && <dd className="mt-0.5 text-xs text-ink-faint">{hint}</dd>}
    </div>
  );
}

/**
 * By count, so that no row has a gap: a single last one takes the whole row. The wider breakpoint resets that, because
 * with two separate ranges both would apply at the exact boundary.
 */
const columnsByCount: Readonly<Record<number, string>> = {
  3: 'grid-cols-2 [&>:last-child]:col-span-2 sm:grid-cols-3 sm:[&>:last-child]:col-span-1',
  4: 'grid-cols-2 md:grid-cols-4',
  5: 'grid-cols-2 [&>:last-child]:col-span-2 lg:grid-cols-5 lg:[&>:last-child]:col-span-1',
  6: 'grid-cols-2 md:grid-cols-3 xl:grid-cols-6',
};

/** The shadows of the figures draw the lines between them. */
export function StatGroup({ children }: Readonly<{ children: ReactNode }>) {
  return (
    <dl
      className={classNames(
        // On a wide screen its rules end where those of the page do, and its text starts there.
        '-mx-4 grid gap-px overflow-clip border-y border-line md:[clip-path:inset(0_1rem)]',
        // Those that are left out do not count.
        columnsByCount[Children.toArray(children).length] ?? 'grid-cols-2',
      )}
    >
      {children}
    </dl>
  );
}
