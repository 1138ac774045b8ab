import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useAddressToken } from '../../address-token.ts';
import { ApiProblem } from '../../api/client.ts';
import { resetPassword, signInOptionsQuery } from '../../api/session.ts';
import { LinkButton } from '../../kit/button.tsx';
import { NewPasswordField } from '../../kit/field.tsx';
import { fieldProblem } from '../../kit/states.tsx';
import { BackToSignIn, SignedOutForm, SignedOutMessage } from '../../layout/signed-out.tsx';

/** Each link starts over, whatever happened with the previous one. */
export function ResetPasswordPage() {
  const { token, link } = useAddressToken();
  return <ResetPassword key={link} token={token} />;
}

function ResetPassword({ token }: Readonly<{ token: string }>) {
  const [password, setPassword] = useState('');
  const resetting = useMutation({ mutationFn: () => resetPassword(token, password) });
  const isUnusable =
    token === '' || (resetting.error instanceof ApiProblem && resetting.error.code === 'invalid_reset_token');
  if (resetting.isSuccess)
    return (
      <SignedOutMessage
        title="Your password was changed"
        action={
          <LinkButton to="/sign-in" variant="primary">
            Sign in
          </LinkButton>
        }
      >
        All earlier sessions have ended. Sign in with your new password.
      </SignedOutMessage>
    );
  if (isUnusable) return <UnusableLink />;
  return (
    <SignedOutForm
      title="Set a password"
      submitLabel="Save password"
      action={resetting}
      ownFields={['newPassword']}
      footer={<BackToSignIn />}
    >
      <NewPasswordField
        label="New password"
        hasFocus
        value={password}
        onChange={setPassword}
        error={fieldProblem(resetting.error, 'newPassword')}
      />
    </SignedOutForm>
  );
}

function UnusableLink() {
  const options = useQuery(signInOptionsQuery);
  const isMailed = options.data?.password_reset === 'email';
  return (
    <SignedOutMessage
      title="This link does not work"
      action={
        isMailed ? (
          <LinkButton to="/forgot-password" variant="primary">
            Request a new link
          </LinkButton>
        ) : undefined
      }
    >
      It was already used, has expired or was not copied completely.{' '}
      {isMailed ? 'Request a new one.' : 'Ask the operator of this gateway for a new one.'}
    </SignedOutMessage>
  );
}
