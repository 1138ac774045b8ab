import { CircleAlert, CircleCheck, Info, type LucideIcon, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

type CalloutTone = 'info' | 'good' | 'warn' | 'bad';

const looks: Readonly<Record<CalloutTone, { icon: LucideIcon; box: string; mark: string }>> = {
  info: { icon: Info, box: 'bg-sunken border-line', mark: 'text-ink-faint' },
  good: { icon: CircleCheck, box: 'bg-sunken border-line', mark: 'text-good' },
  warn: { icon: TriangleAlert, box: 'bg-warn-soft border-warn/20', mark: 'text-warn' },
  bad: { icon: CircleAlert, box: 'bg-bad-soft border-bad/20', mark: 'text-bad' },
};

type CalloutProps = Readonly<{
  tone?: CalloutTone;
  title?: ReactNode;
  actions?: ReactNode;
  /** Announced by screen readers immediately. */
  isUrgent?: boolean;
  children?: ReactNode;
}>;

export function Callout({ tone = 'info', title, actions, isUrgent = false, children }: CalloutProps) {
  const { icon: Icon, box, mark } = looks[tone];
  return (
    <div
      role={isUrgent ? 'alert' : undefined}
      className={classNames('flex flex-wrap items-center gap-x-4 gap-y-2 rounded-md border px-3 py-2', box)}
    >
      {/* Actions that would leave little room for the text go below it, and start where it does. */}
      <div className="flex min-w-0 flex-1 basis-96 items-start gap-2.5">
        <Icon aria-hidden className={classNames('mt-0.5 size-4 shrink-0', mark)} />
        <div className="min-w-0 wrap-anywhere">
          {title !== undefined && <p className="font-medium text-ink">{title}</p>}
          {children !== undefined && <div className="text-ink-soft">{children}</div>}
        </div>
      </div>
      {actions !== undefined && <div className="ml-6.5 flex flex-wrap items-center gap-2">{actions}</div>}
    </div>
  );
}
