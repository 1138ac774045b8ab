/** One figure with its label, within a `StatGroup`. */
import { Children, type ReactNode } from 'react';
import { classNames } from './class-names.ts';
import { Skeleton } from './states.tsx';

type StatProps = Readonly<{
  label: ReactNode;
  /** Undefined while it is being loaded; the space is reserved. */
  value: ReactNode | undefined;
  hint?: ReactNode;
  tone?: 'plain' | 'good' | 'warn' | 'bad';
}>;

const tones = { plain: '', good: 'text-good', warn: 'text-warn', bad: 'text-bad' } as const;

export function Stat({ label, value, hint, tone = 'plain' }: StatProps) {
  return (
    <div className="min-w-0 px-4 py-3 shadow-[0_0_0_1px_var(--color-line)]">
      <dt className="text-xs text-ink-faint">{label}</dt>
      <dd
        className={classNames(
          'figures mt-0.5 text-lg/6 font-semibold tracking-tight wrap-anywhere',
          tones[tone],
        )}
      >
        {value === undefined ? <Skeleton className="my-0.5 h-5 w-24" /> : value}
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
  5: 'grid-cols-2 [&>:last-child]:col-span-2 xl:grid-cols-5 xl:[&>:last-child]:col-span-1',
};

/** The shadows of the figures draw the lines between them. */
export function StatGroup({ children }: Readonly<{ children: ReactNode }>) {
  return (
    <dl
      className={classNames(
        '-mx-4 grid gap-px overflow-clip border-y border-line',
        columnsByCount[Children.count(children)] ?? 'grid-cols-2',
      )}
    >
      {children}
    </dl>
  );
}
