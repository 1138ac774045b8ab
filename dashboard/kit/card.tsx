import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

type CardProps = Readonly<{
  title?: ReactNode;
  description?: ReactNode;
  actions?: ReactNode;
  footer?: ReactNode;
  /** For content with its own padding, such as a table. */
  isFlush?: boolean;
  className?: string;
  children: ReactNode;
}>;

/** A part of a page: its title above a rule, and no box around it. */
export function Card({
  title,
  description,
  actions,
  footer,
  isFlush = false,
  className,
  children,
}: CardProps) {
  const hasHead = title !== undefined || actions !== undefined;
  return (
    <section className={classNames('min-w-0', className)}>
      {hasHead && (
        <header className="flex min-h-10.25 flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line pb-2">
          <div className="flex min-w-0 flex-wrap items-baseline gap-x-3">
            {title !== undefined && <h2 className="font-semibold">{title}</h2>}
            {description !== undefined && <p className="text-xs text-ink-faint">{description}</p>}
          </div>
          {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      <div className={isFlush ? undefined : hasHead ? 'pt-4' : undefined}>{children}</div>
      {footer !== undefined && (
        <footer className="mt-4 flex flex-wrap items-center gap-2 border-t border-line pt-3">{footer}</footer>
      )}
    </section>
  );
}

/** A list of names and values. */
export function Facts({ children }: Readonly<{ children: ReactNode }>) {
  return <dl className="max-w-3xl divide-y divide-line">{children}</dl>;
}

type FactProps = Readonly<{
  name: ReactNode;
  /** Whole sentences, which are below their name. */
  isProse?: boolean;
  children: ReactNode;
}>;

export function Fact({ name, isProse = false, children }: FactProps) {
  return (
    <div
      className={classNames(
        'gap-x-6 gap-y-0.5 py-1.5 first:pt-0 last:pb-0',
        !isProse && 'flex flex-wrap items-baseline justify-between',
      )}
    >
      <dt className="min-w-0 text-ink-soft wrap-anywhere">{name}</dt>
      <dd className={classNames('figures min-w-0 wrap-anywhere', !isProse && 'text-right')}>{children}</dd>
    </div>
  );
}
