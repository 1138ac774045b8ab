/** In place of a list that has nothing yet: what would be here, and what to do next. */
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

type EmptyStateProps = Readonly<{
  icon?: LucideIcon;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}>;

export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center px-4 py-12 text-center">
      {Icon !== undefined && (
        <span className="mb-3 grid size-10 place-items-center rounded-full bg-sunken text-ink-faint">
          <Icon aria-hidden className="size-5" />
        </span>
      )}
      <p className="font-medium">{title}</p>
      {children !== undefined && <div className="mt-1 max-w-md text-ink-soft">{children}</div>}
      {action !== undefined && <div className="mt-4 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}
