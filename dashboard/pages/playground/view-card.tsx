/** A card with two views: the model itself, and the request as code. */
import type { ReactNode } from 'react';
import { Segmented } from '../../kit/choice.tsx';

type ViewCardProps = Readonly<{
  title: string;
  /** The name of the first view. */
  label: string;
  view: 'try' | 'code';
  onChange: (view: 'try' | 'code') => void;
  children: ReactNode;
}>;

export function ViewCard({ title, label, view, onChange, children }: ViewCardProps) {
  return (
    <section className="min-w-0 overflow-hidden rounded-md border border-line">
      <header className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5 sm:px-5">
        <h2 className="font-semibold">{view === 'try' ? title : 'Code'}</h2>
        <Segmented
          label="View"
          value={view}
          options={[
            { value: 'try', label },
            { value: 'code', label: 'Code' },
          ]}
          onChange={onChange}
        />
      </header>
      {children}
    </section>
  );
}
