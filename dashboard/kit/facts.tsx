/** Names and values under each other, for the details of one thing. */
import type { ReactNode } from 'react';

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
