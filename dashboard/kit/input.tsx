/** Controls to write and choose with. Inside of a `Field` they need no names of their own; elsewhere an `aria-label`. */
import { ChevronDown } from 'lucide-react';
import type { ComponentProps } from 'react';
import { classNames } from './class-names.ts';
import { useControlNames } from './field.tsx';

export const controlClass = classNames(
  'w-full min-w-0 rounded-md border border-edge/60 bg-surface text-sm text-ink shadow-card',
  'transition-colors duration-100 hover:border-edge aria-invalid:border-bad',
  'focus-visible:border-accent-text focus-visible:outline-1 focus-visible:outline-offset-0',
  'disabled:cursor-not-allowed disabled:bg-sunken disabled:text-ink-faint disabled:hover:border-edge/60',
);

export function Input({ className, ...rest }: ComponentProps<'input'>) {
  return (
    <input {...useControlNames()} className={classNames(controlClass, 'h-9 px-3', className)} {...rest} />
  );
}

type TextAreaProps = ComponentProps<'textarea'> & Readonly<{ isCode?: boolean }>;

export function TextArea({ className, isCode = false, ...rest }: TextAreaProps) {
  return (
    <textarea
      rows={4}
      spellCheck={isCode ? false : undefined}
      {...useControlNames()}
      className={classNames(
        controlClass,
        'block px-3 py-2',
        isCode && 'font-mono text-[0.8125rem]/5',
        className,
      )}
      {...rest}
    />
  );
}

export function Select({ className, children, ...rest }: ComponentProps<'select'>) {
  return (
    <span className={classNames('relative block min-w-0', className)}>
      <select
        {...useControlNames()}
        className={classNames(controlClass, 'h-9 appearance-none truncate py-0 pr-8 pl-3')}
        {...rest}
      >
        {children}
      </select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2.5 size-4 -translate-y-1/2 text-ink-faint"
      />
    </span>
  );
}
