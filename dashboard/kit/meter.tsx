/** How much of something is used up, as a bar. What it says must stand beside it as text too. */
import { classNames } from './class-names.ts';

type MeterProps = Readonly<{
  label: string;
  /** From 0 to 1; what is above is shown as full. */
  share: number;
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

export function Meter({ label, share, tone = 'accent', className }: MeterProps) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers draw the element themselves, each in another way.
    <span
      role="meter"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      className={classNames('block h-1.5 overflow-hidden rounded-full bg-hover', className)}
    >
      <span
        style={{ width: `${percent}%` }}
        className={classNames('block h-full rounded-full', tones[tone])}
      />
    </span>
  );
}
