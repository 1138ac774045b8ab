import type { LucideIcon } from 'lucide-react';
import type { ButtonHTMLAttributes, MouseEvent, Ref } from 'react';
import { classNames } from './class-names.ts';

type IconButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'children' | 'aria-label' | 'onClick'> &
  Readonly<{
    icon: LucideIcon;
    /** What it does: an icon alone says nothing to many. */
    label: string;
    onClick?: (event: MouseEvent<HTMLButtonElement>) => unknown;
    ref?: Ref<HTMLButtonElement>;
  }>;

export function IconButton({ icon: Icon, label, className, type = 'button', ...rest }: IconButtonProps) {
  return (
    <button
      type={type}
      aria-label={label}
      title={label}
      className={classNames(
        'inline-grid size-8 shrink-0 place-items-center rounded-md text-ink-soft transition-colors duration-100',
        'hover:bg-hover hover:text-ink disabled:pointer-events-none disabled:opacity-50',
        className,
      )}
      {...rest}
    >
      <Icon aria-hidden className="size-4" />
    </button>
  );
}
