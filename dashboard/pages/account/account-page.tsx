/** The user's own profile, password and sessions. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { changePassword, sessionsQuery, useMe } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { CurrentPasswordField, NewPasswordField } from '../../kit/field.tsx';
import { Form } from '../../kit/form.tsx';
import { Page } from '../../kit/page.tsx';
import { FormProblem, fieldProblem } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';
import { Sessions } from './sessions.tsx';

export function AccountPage() {
  const { user, accounts } = useMe();
  return (
    <Page title="Profile" description="Your details, password and sessions.">
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <Card title="You">
          <Facts>
            {user.name !== '' && <Fact name="Name">{user.name}</Fact>}
            <Fact name="E-mail">{user.email}</Fact>
            {accounts.map((account) => (
              <Fact key={account.id} name={account.name}>
                {account.role === 'owner' ? 'Owner' : 'Member'}
              </Fact>
            ))}
            {user.is_operator && <Fact name="This gateway">Operator</Fact>}
          </Facts>
        </Card>
        <ChangePassword />
      </div>
      <Sessions />
    </Page>
  );
}

const ownFields = ['currentPassword', 'newPassword'];

function ChangePassword() {
  const [currentPassword, setCurrentPassword] = useState('');
  const [newPassword, setNewPassword] = useState('');
  const { user } = useMe();
  const queryClient = useQueryClient();
  const changing = useMutation({
    mutationFn: () => changePassword(currentPassword, newPassword),
    onSuccess: async () => {
      setCurrentPassword('');
      setNewPassword('');
      showToast('good', 'Your password was changed. Your other sessions have ended.');
      await queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
  });
  return (
    <Card title="Password">
      <Form onSubmit={() => changing.mutate()} className="space-y-4">
        {/* Tells password managers which user this is. */}
        <input type="text" name="username" autoComplete="username" value={user.email} readOnly hidden />
        <CurrentPasswordField
          label="Current password"
          value={currentPassword}
          onChange={setCurrentPassword}
          error={fieldProblem(changing.error, 'currentPassword')}
        />
        <NewPasswordField
          label="New password"
          value={newPassword}
          onChange={setNewPassword}
          error={fieldProblem(changing.error, 'newPassword')}
        />
        <FormProblem error={changing.error} fields={ownFields} />
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <Button type="submit" variant="primary" isBusy={changing.isPending}>
            Change password
          </Button>
          <span className="text-xs text-ink-faint">This ends your other sessions.</span>
        </div>
      </Form>
    </Card>
  );
}
