/** What a person who signs up fills in, with an invitation or without. */
import { EmailField, Field, Input, NewPasswordField } from '../../kit/field.tsx';
import { fieldProblem } from '../../kit/states.tsx';

export type NewUser = Readonly<{ name: string; email: string; password: string }>;

export function NewUserFields({
  user,
  onChange,
  error,
}: Readonly<{ user: NewUser; onChange: (user: NewUser) => void; error: unknown }>) {
  return (
    <>
      <Field label="Name" error={fieldProblem(error, 'name')}>
        <Input
          name="name"
          autoComplete="name"
          autoFocus
          required
          maxLength={100}
          value={user.name}
          onChange={(event) => onChange({ ...user, name: event.target.value })}
        />
      </Field>
      <EmailField
        value={user.email}
        onChange={(email) => onChange({ ...user, email })}
        error={fieldProblem(error, 'email')}
      />
      <NewPasswordField
        label="Password"
        value={user.password}
        onChange={(password) => onChange({ ...user, password })}
        error={fieldProblem(error, 'password')}
      />
    </>
  );
}
