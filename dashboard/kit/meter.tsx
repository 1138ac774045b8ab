/** How much of something is used up, as a bar. What it says must stand beside it as text too. */
import { classNames } from './class-names.ts';

type MeterProps = Readonly<{
  label: string;
  /** From 0 to 1; what is above is shown as full. */
  share: number;
  /** How much of it is there for good, if not all; the rest is drawn lighter. */
  certainShare?: number;
  tone?: 'accent' | 'good' | 'warn' | 'bad' | 'plain';
  className?: string;
}>;

const tones = {
  accent: 'bg-accent',
  good: 'bg-good',
  warn: 'bg-chart-3',
  bad: 'bg-bad',
  plain: 'bg-edge',
} as const;

export function Meter({ label, share, certainShare = share, tone = 'accent', className }: MeterProps) {
  const percent = percentOf(share);
  const certainPercent = percentOf(Math.min(certainShare, share));
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers draw the element themselves, each in another way.
    <span
      role="meter"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      className={classNames('flex h-1.5 overflow-hidden rounded-full bg-hover', className)}
    >
      <span style={{ width: `${certainPercent}%` }} className={classNames('h-full', tones[tone])} />
      <span
        style={{ width: `${percent - certainPercent}%` }}
        className={classNames('h-full opacity-50', tones[tone])}
      />
    </span>
  );
}

function percentOf(share: number): number {
  return Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
}
