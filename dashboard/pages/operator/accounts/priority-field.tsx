import { Field, Input } from '../../../kit/field.tsx';

type PriorityFieldProps = Readonly<{
  value: string;
  onChange: (value: string) => void;
  error: string | null;
}>;

export function PriorityField({ value, onChange, error }: PriorityFieldProps) {
  return (
    <Field label="Priority" hint="From 0 to 100. The lower number is spent first." error={error}>
      <Input
        inputMode="numeric"
        autoComplete="off"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

export function priorityProblem(text: string): string | null {
  return /^(?:\d{1,2}|100)$/.test(text.trim()) ? null : 'Enter a whole number from 0 to 100.';
}
