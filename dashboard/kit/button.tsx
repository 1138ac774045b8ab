import { Link, type LinkProps } from '@tanstack/react-router';
import { LoaderCircle, type LucideIcon } from 'lucide-react';
import type { ButtonHTMLAttributes, MouseEvent, ReactNode, Ref } from 'react';
import { classNames } from './class-names.ts';

export type ButtonVariant = 'primary' | 'secondary' | 'quiet' | 'danger';
type ButtonSize = 'medium' | 'small';

const variants: Readonly<Record<ButtonVariant, string>> = {
  primary: 'bg-primary text-primary-ink hover:bg-primary-strong border-transparent',
  secondary: 'bg-surface text-ink border-line hover:bg-hover',
  quiet: 'bg-transparent text-ink-soft border-transparent hover:bg-hover hover:text-ink',
  danger: 'bg-bad-solid text-white border-transparent hover:bg-bad-solid-strong',
};

const sizes: Readonly<Record<ButtonSize, string>> = {
  medium: 'h-8 px-3 text-sm',
  small: 'h-7 px-2.5 text-xs',
};

function buttonClass(variant: ButtonVariant = 'secondary', size: ButtonSize = 'medium'): string {
  return classNames(
    'relative inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap',
    'transition-colors duration-100 disabled:pointer-events-none disabled:opacity-50',
    variants[variant],
    sizes[size],
  );
}

type Looks = Readonly<{
  variant?: ButtonVariant | undefined;
  size?: ButtonSize;
  icon?: LucideIcon | undefined;
  children: ReactNode;
}>;

function Face({ icon: Icon, children }: Pick<Looks, 'icon' | 'children'>) {
  return (
    <>
      {Icon !== undefined && <Icon aria-hidden className="-ml-0.5 size-3.5" />}
      {children}
    </>
  );
}

type NativeButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'children' | 'onClick'> &
  Readonly<{
    /** Its result is not awaited, so it has to handle its own failures. */
    onClick?: (event: MouseEvent<HTMLButtonElement>) => unknown;
  }>;

type ButtonProps = Looks &
  NativeButtonProps &
  Readonly<{
    /** While the action is in progress, the button keeps its width and cannot be pressed again. */
    isBusy?: boolean;
    ref?: Ref<HTMLButtonElement> | undefined;
  }>;

export function Button({
  variant,
  size,
  icon,
  isBusy = false,
  disabled,
  className,
  children,
  type = 'button',
  ...rest
}: ButtonProps) {
  return (
    <button
      type={type}
      disabled={disabled || isBusy}
      aria-busy={isBusy || undefined}
      className={classNames(buttonClass(variant, size), className)}
      {...rest}
    >
      {isBusy && (
        <span className="absolute inset-0 grid place-items-center">
          <LoaderCircle aria-hidden className="size-4 animate-spin" />
        </span>
      )}
      <span className={classNames('inline-flex items-center gap-1.5', isBusy && 'opacity-0')}>
        <Face icon={icon}>{children}</Face>
      </span>
    </button>
  );
}

type LinkButtonProps = Looks &
  Pick<LinkProps, 'to' | 'params' | 'search'> &
  Readonly<{ 'aria-label'?: string }>;

/** A link that looks like a button. */
export function LinkButton({ variant, size, icon, children, ...link }: LinkButtonProps) {
  return (
    <Link {...link} className={buttonClass(variant, size)}>
      <Face icon={icon}>{children}</Face>
    </Link>
  );
}

type AnchorButtonProps = Looks & Readonly<{ href: string; download?: string | boolean }>;

/** The same for an address outside the app, such as a file. */
export function AnchorButton({ variant, size, icon, children, ...anchor }: AnchorButtonProps) {
  return (
    <a {...anchor} className={buttonClass(variant, size)}>
      <Face icon={icon}>{children}</Face>
    </a>
  );
}

type IconButtonProps = NativeButtonProps &
  Readonly<{
    icon: LucideIcon;
    /** What it does, as its accessible name and tooltip. */
    label: string;
    ref?: Ref<HTMLButtonElement>;
  }>;

export function IconButton({ icon: Icon, label, className, type = 'button', ...rest }: IconButtonProps) {
  return (
    <button
      type={type}
      aria-label={label}
      title={label}
      className={classNames(
        'inline-grid size-7 shrink-0 place-items-center rounded-md text-ink-soft transition-colors duration-100',
        'hover:bg-hover hover:text-ink disabled:pointer-events-none disabled:opacity-50',
        className,
      )}
      {...rest}
    >
      <Icon aria-hidden className="size-4" />
    </button>
  );
}
