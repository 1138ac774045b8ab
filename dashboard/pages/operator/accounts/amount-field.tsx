import { Field, Input } from '../../../kit/field.tsx';

type AmountFieldProps = Readonly<{
  label: string;
  hint?: string;
  isOptional?: boolean;
  value: string;
  onChange: (value: string) => void;
  error: string | null;
}>;

export function AmountField({ value, onChange, ...field }: AmountFieldProps) {
  return (
    <Field {...field}>
      <Input
        inputMode="decimal"
        autoComplete="off"
        placeholder="0.00"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

const amountPattern = /^\d{1,13}(?:\.\d{1,12})?$/;

/** What is wrong with an amount in USD, which must be positive; null if it is valid. */
export function amountProblem(text: string): string | null {
  const amount = text.trim();
  if (!amountPattern.test(amount)) return 'Enter an amount such as 20 or 0.50.';
  return /[1-9]/.test(amount) ? null : 'Enter an amount above 0.';
}
