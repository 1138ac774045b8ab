/** A password that is chosen now. It can be looked at, which spares writing it twice. */
import { Eye, EyeOff } from 'lucide-react';
import { useState } from 'react';
import { Field } from './field.tsx';
import { IconButton } from './icon-button.tsx';
import { Input } from './input.tsx';

const shortestPassword = 8;
const longestPassword = 128;

type NewPasswordFieldProps = Readonly<{
  label: string;
  value: string;
  onChange: (value: string) => void;
  error?: string | null;
  hasFocus?: boolean;
}>;

export function NewPasswordField({ label, value, onChange, error, hasFocus = false }: NewPasswordFieldProps) {
  const [isShown, setShown] = useState(false);
  return (
    <Field label={label} hint={`At least ${shortestPassword} characters.`} error={error}>
      <div className="relative">
        <Input
          type={isShown ? 'text' : 'password'}
          name="new-password"
          autoComplete="new-password"
          autoFocus={hasFocus}
          required
          minLength={shortestPassword}
          maxLength={longestPassword}
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className="pr-10"
        />
        <IconButton
          icon={isShown ? EyeOff : Eye}
          label={isShown ? 'Hide the password' : 'Show the password'}
          onClick={() => setShown(!isShown)}
          className="absolute top-0.5 right-0.5"
        />
      </div>
    </Field>
  );
}
