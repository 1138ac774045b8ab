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
    <div className={classNames('min-w-0', className)}>
      <div className={classNames('flex items-baseline justify-between gap-3', !isLabelHidden && 'mb-1.5')}>
        <label
          htmlFor={id}
          className={isLabelHidden ? 'sr-only' : 'text-[0.8125rem] font-medium text-ink select-none'}
        >
          {label}
          {isOptional && <span className="ml-1.5 font-normal text-ink-faint">optional</span>}
        </label>
        {aside !== undefined && <span className="text-[0.8125rem] text-ink-faint">{aside}</span>}
      </div>
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
