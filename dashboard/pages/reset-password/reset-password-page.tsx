import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { post } from '../../api/client.ts';
import { ApiProblem } from '../../api/problem.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { FormProblem, fieldProblem } from '../../kit/form-problem.tsx';
import { NewPasswordField } from '../../kit/new-password-field.tsx';
import { SignedOutCard, textLinkClass } from '../../layout/signed-out-card.tsx';

/** The token stands behind the #, which browsers keep to themselves: it is in no log. */
function tokenInAddress(): string {
  return new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
}

export function ResetPasswordPage() {
  const [token] = useState(tokenInAddress);
  const [password, setPassword] = useState('');
  const resetting = useMutation({
    mutationFn: () => post('/api/auth/reset-password', { token, newPassword: password }),
  });
  useEffect(() => {
    // A secret that has been read is not left in the address bar and the history.
    if (location.hash !== '') history.replaceState(history.state, '', location.pathname);
  }, []);
  const isUnusable =
    token === '' || (resetting.error instanceof ApiProblem && resetting.error.code === 'invalid_reset_token');
  if (resetting.isSuccess)
    return (
      <SignedOutCard title="Your password is changed">
        <div className="space-y-4 text-center">
          <p className="text-ink-soft">Sign in with the new one. Every earlier session has ended.</p>
          <LinkButton to="/sign-in" variant="primary">
            Sign in
          </LinkButton>
        </div>
      </SignedOutCard>
    );
  if (isUnusable)
    return (
      <SignedOutCard title="This link does not work">
        <div className="space-y-4 text-center">
          <p className="text-ink-soft">
            It was used already, is too old or was not copied whole. Ask for a new one.
          </p>
          <LinkButton to="/forgot-password" variant="primary">
            Get a new link
          </LinkButton>
        </div>
      </SignedOutCard>
    );
  return (
    <SignedOutCard
      title="Choose a password"
      onSubmit={resetting.mutate}
      footer={
        <Link to="/sign-in" className={textLinkClass}>
          Back to the sign-in
        </Link>
      }
    >
      <NewPasswordField
        label="New password"
        hasFocus
        value={password}
        onChange={setPassword}
        error={fieldProblem(resetting.error, 'newPassword')}
      />
      <FormProblem error={resetting.error} fields={['newPassword']} />
      <Button type="submit" variant="primary" isBusy={resetting.isPending} className="w-full">
        Save the password
      </Button>
    </SignedOutCard>
  );
}
