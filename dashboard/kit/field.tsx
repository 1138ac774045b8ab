/** A control with its label, what to know about it, and what is wrong with it. The control inside finds its names here. */
import { createContext, type ReactNode, useContext, useId } from 'react';
import { classNames } from './class-names.ts';

type ControlNames = Readonly<{
  id?: string;
  'aria-describedby'?: string | undefined;
  'aria-invalid'?: true | undefined;
  required?: boolean | undefined;
}>;

const FieldContext = createContext<ControlNames>({});

type FieldProps = Readonly<{
  label: ReactNode;
  hint?: ReactNode;
  error?: string | null | undefined;
  isRequired?: boolean;
  isOptional?: boolean;
  /** Read by screen readers only, where the place says it already. */
  isLabelHidden?: boolean;
  /** Stands opposite to the label. */
  aside?: ReactNode;
  className?: string;
  children: ReactNode;
}>;

export function Field(props: FieldProps) {
  const { label, hint, error, isRequired, isOptional, isLabelHidden, aside, className, children } = props;
  const id = useId();
  const hasError = typeof error === 'string' && error !== '';
  const descriptions = [hint !== undefined && `${id}-hint`, hasError && `${id}-error`].filter(Boolean);
  return (
    <div className={classNames('relative min-w-0', className)}>
      <label
        htmlFor={id}
        className={classNames(
          isLabelHidden ? 'sr-only' : 'mb-1.5 block text-[0.8125rem] font-medium text-ink select-none',
          aside !== undefined && 'pr-24',
        )}
      >
        {label}
        {isOptional && <span className="font-normal text-ink-faint"> (optional)</span>}
      </label>
      <FieldContext
        value={{
          id,
          'aria-describedby': descriptions.length > 0 ? descriptions.join(' ') : undefined,
          'aria-invalid': hasError || undefined,
          required: isRequired || undefined,
        }}
      >
        {children}
      </FieldContext>
      {/* After the control, because that is the order in which the keyboard comes to them. */}
      {aside !== undefined && (
        <span className="absolute top-0 right-0 flex h-5 items-center text-[0.8125rem] text-ink-faint">
          {aside}
        </span>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="mt-1.5 text-xs text-ink-faint">
          {hint}
        </p>
      )}
      {hasError && (
        <p id={`${id}-error`} className="mt-1.5 text-xs font-medium text-bad">
          {error}
        </p>
      )}
    </div>
  );
}

/** For controls: the names that the field around them has for them. */
export function useControlNames(): ControlNames {
  return useContext(FieldContext);
}
