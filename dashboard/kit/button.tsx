import { Link, type LinkProps } from '@tanstack/react-router';
import { LoaderCircle, type LucideIcon } from 'lucide-react';
import {
  type ButtonHTMLAttributes,
  type FocusEvent,
  type MouseEvent,
  type ReactNode,
  type Ref,
  useState,
} from 'react';
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

/** What cannot be pressed now. */
const offClass =
  'disabled:pointer-events-none disabled:opacity-50 aria-disabled:pointer-events-none aria-disabled:opacity-50';

function buttonClass(variant: ButtonVariant = 'secondary', size: ButtonSize = 'medium'): string {
  return classNames(
    'relative inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap',
    'transition-colors duration-100',
    offClass,
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

/**
 * A button that can no longer be pressed keeps the focus until the focus leaves it. The browser takes it from a disabled
 * one, and the keyboard would go on at the top of the page.
 */
function useSwitchedOff(isOff: boolean, { onClick, onFocus, onBlur }: NativeButtonProps) {
  const [hasFocus, setFocus] = useState(false);
  return {
    disabled: isOff && !hasFocus,
    'aria-disabled': (isOff && hasFocus) || undefined,
    onClick: (event: MouseEvent<HTMLButtonElement>) => {
      // It may be what submits a form.
      if (isOff) event.preventDefault();
      else onClick?.(event);
    },
    onFocus: (event: FocusEvent<HTMLButtonElement>) => {
      setFocus(true);
      onFocus?.(event);
    },
    onBlur: (event: FocusEvent<HTMLButtonElement>) => {
      setFocus(false);
      onBlur?.(event);
    },
  };
}

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
  disabled = false,
  className,
  children,
  type = 'button',
  ...rest
}: ButtonProps) {
  const pressing = useSwitchedOff(disabled || isBusy, rest);
  return (
    <button
      type={type}
      aria-busy={isBusy || undefined}
      className={classNames(buttonClass(variant, size), className)}
      {...rest}
      {...pressing}
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

export function IconButton(props: IconButtonProps) {
  const { icon: Icon, label, className, type = 'button', disabled = false, ...rest } = props;
  const pressing = useSwitchedOff(disabled, rest);
  return (
    <button
      type={type}
      aria-label={label}
      title={label}
      className={classNames(
        'inline-grid size-7 shrink-0 place-items-center rounded-md text-ink-soft transition-colors duration-100',
        'hover:bg-hover hover:text-ink',
        offClass,
        className,
      )}
      {...rest}
      {...pressing}
    >
      <Icon aria-hidden className="size-4" />
    </button>
  );
}
