import type { ComponentProps, ReactNode } from 'react';
import { toneOfShare } from './amounts.ts';
import { classNames } from './class-names.ts';
import { Meter } from './figures.tsx';
import { formatShare } from './format-figures.ts';

type UseOfLimitProps = Readonly<{
  /** What the bar shows, as an accessible name. */
  label: string;
  share: number;
  certainShare: number;
  figures: ReactNode;
  /** Other than what follows from the share. */
  tone?: ComponentProps<typeof Meter>['tone'];
  title?: string;
  /** What else there is to say, such as what is held. */
  children?: ReactNode;
}>;

/** How much of a limit is used, on one line of a table: a bar, the share and the figures. */
export function UseOfLimit({
  label,
  share,
  certainShare,
  figures,
  tone = toneOfShare(share),
  title,
  children,
}: UseOfLimitProps) {
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2 lg:flex-nowrap" title={title}>
      <Meter label={label} share={share} certainShare={certainShare} tone={tone} className="w-14 shrink-0" />
      <span
        className={classNames(
          'figures w-9 whitespace-nowrap',
          share >= 1 ? 'font-medium text-bad' : 'text-ink-faint',
        )}
      >
        {formatShare(Math.min(1, share))}
      </span>
      <span className="md:whitespace-nowrap">{figures}</span>
      {children}
    </span>
  );
}
