/** `Checkbox` is part of a form, `Switch` takes effect immediately, and `Segmented` selects one of a few. */
import { type ReactNode, useId } from 'react';
import { classNames } from './class-names.ts';

type ChoiceProps = Readonly<{
  label: ReactNode;
  hint?: ReactNode;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
  isDisabled?: boolean;
}>;

const checkMark =
  'checked:bg-[url(data:image/svg+xml,%3Csvg%20xmlns=%22http://www.w3.org/2000/svg%22%20viewBox=%220%200%2016%2016%22%20fill=%22none%22%20stroke=%22white%22%20stroke-width=%222.2%22%20stroke-linecap=%22round%22%20stroke-linejoin=%22round%22%3E%3Cpath%20d=%22m3.8%208.4%202.8%202.8%205.6-6.2%22/%3E%3C/svg%3E)]';

export function Checkbox(props: ChoiceProps) {
  return (
    <Choice
      {...props}
      control={classNames(
        'mt-0.5 size-4 rounded border border-edge bg-surface checked:border-transparent checked:bg-accent',
        checkMark,
      )}
    />
  );
}

export function Switch(props: ChoiceProps) {
  return (
    <Choice
      {...props}
      role="switch"
      control={classNames(
        'mt-px h-4.5 w-8 rounded-full bg-edge transition-colors checked:bg-accent',
        'before:block before:size-3.5 before:translate-x-0.5 before:translate-y-0.5 before:rounded-full before:bg-white',
        'before:transition-transform checked:before:translate-x-4',
      )}
    />
  );
}

function Choice({
  label,
  hint,
  isChecked,
  onChange,
  isDisabled = false,
  role,
  control,
}: ChoiceProps & Readonly<{ control: string; role?: 'switch' }>) {
  const id = useId();
  return (
    <div className={classNames('flex items-start gap-2.5', isDisabled && 'opacity-60')}>
      <input
        id={id}
        type="checkbox"
        role={role}
        checked={isChecked}
        disabled={isDisabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.target.checked)}
        className={classNames('shrink-0 appearance-none', control)}
      />
      <div className="min-w-0">
        <label htmlFor={id} className="block text-sm text-ink select-none">
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="mt-0.5 text-xs text-ink-faint">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

type SegmentedProps<Value extends string> = Readonly<{
  label: string;
  value: Value;
  options: readonly Readonly<{
    value: Value;
    label: ReactNode;
    /** The accessible name if the label is an icon. */
    name?: string;
  }>[];
  onChange: (value: Value) => void;
  className?: string;
}>;

/** One of a few options, all visible. These are radio buttons, so the arrow keys work as usual. */
export function Segmented<Value extends string>({
  label,
  value,
  options,
  onChange,
  className,
}: SegmentedProps<Value>) {
  const group = useId();
  return (
    <fieldset
      className={classNames('inline-flex min-w-0 rounded-md border border-line bg-sunken p-0.5', className)}
    >
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label
          key={option.value}
          title={option.name}
          className={classNames(
            'relative flex h-6.5 flex-1 items-center justify-center rounded px-2.5 text-xs whitespace-nowrap select-none',
            'text-ink-soft hover:text-ink has-checked:bg-chosen has-checked:text-ink has-checked:shadow-card has-checked:font-medium',
            'has-focus-visible:outline-2 has-focus-visible:outline-accent-text',
          )}
        >
          <input
            type="radio"
            name={group}
            value={option.value}
            checked={option.value === value}
            aria-label={option.name}
            onChange={() => onChange(option.value)}
            className="sr-only"
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}
