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
    <section
      className={classNames('min-w-0 rounded-lg border border-line bg-surface shadow-card', className)}
    >
      {hasHead && (
        <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line px-4 py-3 sm:px-5">
          <div className="min-w-0">
            {title !== undefined && <h2 className="font-semibold">{title}</h2>}
            {description !== undefined && (
              <p className="mt-0.5 text-[0.8125rem] text-ink-soft">{description}</p>
            )}
          </div>
          {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      <div className={isFlush ? 'overflow-clip rounded-b-lg' : 'p-4 sm:p-5'}>{children}</div>
      {footer !== undefined && (
        <footer className="flex flex-wrap items-center justify-end gap-2 border-t border-line px-4 py-3 sm:px-5">
          {footer}
        </footer>
      )}
    </section>
  );
}

/** A list of names and values. */
export function Facts({ children }: Readonly<{ children: ReactNode }>) {
  return <dl className="divide-y divide-line">{children}</dl>;
}

export function Fact({ name, children }: Readonly<{ name: ReactNode; children: ReactNode }>) {
  return (
    <div className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-0.5 py-2 first:pt-0 last:pb-0">
      <dt className="min-w-0 text-ink-soft wrap-anywhere">{name}</dt>
      <dd className="figures min-w-0 text-right wrap-anywhere">{children}</dd>
    </div>
  );
}
