/** One of a few, all of them in sight. Underneath are radio buttons, so the arrow keys work as everywhere. */
import { type ReactNode, useId } from 'react';
import { classNames } from './class-names.ts';

type SegmentedProps<Value extends string> = Readonly<{
  label: string;
  value: Value;
  options: readonly Readonly<{
    value: Value;
    label: ReactNode;
    /** The accessible name, where the label is an icon. */
    name?: string;
  }>[];
  onChange: (value: Value) => void;
  className?: string;
}>;

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
            'relative flex h-7 flex-1 items-center justify-center rounded px-2.5 text-[0.8125rem] whitespace-nowrap select-none',
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
