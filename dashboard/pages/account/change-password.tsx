import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { changePassword, sessionsQuery, useMe } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Field } from '../../kit/field.tsx';
import { FormProblem, fieldProblem } from '../../kit/form-problem.tsx';
import { Input } from '../../kit/input.tsx';
import { NewPasswordField } from '../../kit/new-password-field.tsx';
import { showToast } from '../../kit/toast.tsx';

const ownFields = ['currentPassword', 'newPassword'];

export function ChangePassword() {
  const [currentPassword, setCurrentPassword] = useState('');
  const [newPassword, setNewPassword] = useState('');
  const { user } = useMe();
  const queryClient = useQueryClient();
  const changing = useMutation({
    mutationFn: () => changePassword(currentPassword, newPassword),
    onSuccess: async () => {
      setCurrentPassword('');
      setNewPassword('');
      showToast('good', 'Your password is changed. Your other sessions have ended.');
      await queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    changing.mutate();
  };
  return (
    <Card title="Password">
      <form onSubmit={submit} className="space-y-4">
        {/* Tells password managers whose password this is. */}
        <input type="text" name="username" autoComplete="username" value={user.email} readOnly hidden />
        <Field label="Current password" error={fieldProblem(changing.error, 'currentPassword')}>
          <Input
            type="password"
            name="password"
            autoComplete="current-password"
            required
            value={currentPassword}
            onChange={(event) => setCurrentPassword(event.target.value)}
          />
        </Field>
        <NewPasswordField
          label="New password"
          value={newPassword}
          onChange={setNewPassword}
          error={fieldProblem(changing.error, 'newPassword')}
        />
        <FormProblem error={changing.error} fields={ownFields} />
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <Button type="submit" variant="primary" isBusy={changing.isPending}>
            Change the password
          </Button>
          <span className="text-xs text-ink-faint">Ends your other sessions.</span>
        </div>
      </form>
    </Card>
  );
}
