/** Stands where something will be, in its size, so that nothing moves when it arrives. */
import { classNames } from './class-names.ts';

export function Skeleton({ className }: Readonly<{ className?: string }>) {
  return (
    <span
      aria-hidden
      className={classNames('block animate-breathe rounded bg-hover', className ?? 'h-4 w-full')}
    />
  );
}

const lineWidths = ['w-11/12', 'w-4/5', 'w-full', 'w-2/3', 'w-10/12'];

export function SkeletonLines({ count = 3 }: Readonly<{ count?: number }>) {
  return (
    <div role="status" className="space-y-3">
      <span className="sr-only">Loading …</span>
      {Array.from({ length: count }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same and never move.
        <Skeleton key={at} className={`h-4 ${lineWidths[at % lineWidths.length]}`} />
      ))}
    </div>
  );
}
