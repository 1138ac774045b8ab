import type { Role } from '../../../../src/console/contract.ts';
import { Field } from '../../../kit/field.tsx';
import { Select } from '../../../kit/input.tsx';

type RoleFieldProps = Readonly<{ role: Role; onChange: (role: Role) => void; error?: string | null }>;

export function RoleField({ role, onChange, error = null }: RoleFieldProps) {
  return (
    <Field
      label="Role"
      hint="Owners make keys and say who belongs to the account. Members use it and see everything in it."
      error={error}
    >
      <Select
        value={role}
        onChange={(event) => onChange(event.target.value === 'owner' ? 'owner' : 'member')}
      >
        <option value="owner">Owner</option>
        <option value="member">Member</option>
      </Select>
    </Field>
  );
}
