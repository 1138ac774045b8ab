/** Form controls. Inside a `Field` they are labelled by it; elsewhere they need an `aria-label`. */
import { ChevronDown, Eye, EyeOff } from 'lucide-react';
import { type ComponentProps, createContext, type ReactNode, useContext, useId, useState } from 'react';
import { IconButton } from './button.tsx';
import { classNames } from './class-names.ts';
import { formatTime } from './format-figures.ts';

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
  /** For screen readers only, where the context makes the label obvious. */
  isLabelHidden?: boolean;
  /** Opposite the label. */
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
    <div data-part={hasError ? 'wrong' : undefined} className={classNames('relative min-w-0', className)}>
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
      {/* After the control, so that the Tab key reaches the control first. */}
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
      <FieldError id={`${id}-error`}>{error}</FieldError>
    </div>
  );
}

type FieldGroupProps = Readonly<{ label: string; error?: string | null | undefined; children: ReactNode }>;

/** Several controls that together are one field. */
export function FieldGroup({ label, error, children }: FieldGroupProps) {
  const id = useId();
  const hasError = typeof error === 'string';
  return (
    <fieldset
      data-part={hasError ? 'wrong' : undefined}
      className="min-w-0"
      aria-describedby={hasError ? `${id}-error` : undefined}
    >
      <legend className="mb-1.5 text-[0.8125rem] font-medium">{label}</legend>
      {children}
      <FieldError id={`${id}-error`}>{error}</FieldError>
    </fieldset>
  );
}

/** Always rendered, so that screen readers announce what appears in it. */
function FieldError({ id, children }: Readonly<{ id: string; children: string | null | undefined }>) {
  return (
    <div id={id} aria-live="polite">
      {children && <p className="mt-1.5 text-xs font-medium text-bad">{children}</p>}
    </div>
  );
}

/** The label and description of the surrounding field. */
export function useControlNames(): ControlNames {
  return useContext(FieldContext);
}

export const controlClass = classNames(
  'w-full min-w-0 rounded-md border border-edge/60 bg-surface text-sm text-ink max-md:text-base',
  'transition-colors duration-100 hover:border-edge aria-invalid:border-bad',
  'focus-visible:border-accent-text focus-visible:outline-1 focus-visible:outline-offset-0',
  'disabled:cursor-not-allowed disabled:bg-sunken disabled:text-ink-faint disabled:hover:border-edge/60',
);

export function Input({ className, ...rest }: ComponentProps<'input'>) {
  const input = (
    <input
      {...useControlNames()}
      className={classNames(controlClass, 'h-8 px-2.5 max-md:h-9', className)}
      {...rest}
    />
  );
  const { type, value = '' } = rest;
  if (type !== 'date' && type !== 'datetime-local') return input;
  return <DateInput written={writtenDate(`${value}`)}>{input}</DateInput>;
}

/**
 * Browsers write dates in the order of their own language, so that 11/12 may be in November or December. Until it is
 * edited, a whole date is written as everywhere else, above the browser's own text. The input itself stays the same element
 * while parts of it are deleted and written, because another one would not have the focus.
 */
function DateInput({ written, children }: Readonly<{ written: string | null; children: ReactNode }>) {
  return (
    <span
      className={classNames(
        'relative block',
        written !== null &&
          '[&>input:focus+span]:hidden [&>input:not(:focus)::-webkit-datetime-edit]:opacity-0',
      )}
    >
      {children}
      {written !== null && (
        <span
          aria-hidden
          className="pointer-events-none absolute inset-y-px left-px flex items-center rounded-md bg-surface pl-2.5 text-sm whitespace-nowrap text-ink"
        >
          {written}
        </span>
      )}
    </span>
  );
}

/** Of a whole date, with its time where it has one. Null for anything else. */
function writtenDate(value: string): string | null {
  const hasTime = value.includes('T');
  const instant = new Date(`${value}${hasTime ? '' : 'T00:00'}Z`);
  if (Number.isNaN(instant.getTime())) return null;
  return formatTime(instant, hasTime ? 'moment' : 'date', 'UTC');
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

type SelectProps<Value extends string> = Omit<ComponentProps<'select'>, 'value' | 'onChange' | 'children'> &
  Readonly<{
    value: Value;
    options: readonly Readonly<{ value: Value; label: string; isDisabled?: boolean }>[];
    onChange: (value: Value) => void;
  }>;

export function Select<Value extends string>(props: SelectProps<Value>) {
  const { className, options, onChange, ...rest } = props;
  return (
    <span className={classNames('relative block min-w-0', className)}>
      <select
        {...useControlNames()}
        className={classNames(controlClass, 'h-8 appearance-none truncate py-0 pr-8 pl-2.5 max-md:h-9')}
        onChange={({ target }) => {
          const option = options.find(({ value }) => value === target.value);
          if (option !== undefined) onChange(option.value);
        }}
        {...rest}
      >
        {options.map(({ value, label, isDisabled = false }) => (
          <option key={value} value={value} disabled={isDisabled}>
            {label}
          </option>
        ))}
      </select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2.5 size-4 -translate-y-1/2 text-ink-faint"
      />
    </span>
  );
}

type CredentialFieldProps = Readonly<{
  label: string;
  value: string;
  onChange: (value: string) => void;
  error?: string | null;
  hasFocus?: boolean;
  aside?: ReactNode;
}>;

/** The e-mail address of a user, in a form that password managers recognise. */
export function EmailField(props: Omit<CredentialFieldProps, 'label'>) {
  const { value, onChange, error, hasFocus = false } = props;
  return (
    <Field label="E-mail" error={error}>
      <Input
        type="email"
        name="email"
        autoComplete="username"
        autoFocus={hasFocus}
        required
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

export function CurrentPasswordField({ label, value, onChange, error, aside }: CredentialFieldProps) {
  return (
    <Field label={label} error={error} aside={aside}>
      <Input
        type="password"
        name="password"
        autoComplete="current-password"
        required
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

const minPasswordLength = 8;
const maxPasswordLength = 128;

/** A new password, which can be shown instead of being typed twice. */
export function NewPasswordField({ label, value, onChange, error, hasFocus = false }: CredentialFieldProps) {
  const [isShown, setShown] = useState(false);
  return (
    <Field label={label} hint={`At least ${minPasswordLength} characters.`} error={error}>
      <div className="relative">
        <Input
          type={isShown ? 'text' : 'password'}
          name="new-password"
          autoComplete="new-password"
          autoFocus={hasFocus}
          required
          minLength={minPasswordLength}
          maxLength={maxPasswordLength}
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className="pr-10"
        />
        <IconButton
          icon={isShown ? EyeOff : Eye}
          label={isShown ? 'Hide password' : 'Show password'}
          onClick={() => setShown(!isShown)}
          className="absolute top-0.5 right-0.5"
        />
      </div>
    </Field>
  );
}
