import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ApiProblem } from '../../api/client.ts';
import { resetPassword, signInOptionsQuery } from '../../api/session.ts';
import { LinkButton } from '../../kit/button.tsx';
import { NewPasswordField } from '../../kit/field.tsx';
import { fieldProblem } from '../../kit/states.tsx';
import { BackToSignIn, SignedOutForm, SignedOutMessage } from '../../layout/signed-out.tsx';

/** Each link starts over, whatever happened with the one before. */
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

/** `link` counts the links that were opened, even those with the same token. */
type AddressToken = Readonly<{ token: string; link: number }>;

/** The token is in the fragment, which browsers do not send, so it appears in no log. */
function tokenInAddress(): string {
  return new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
}

/** The token of the link that was opened last, which may be another one in the same tab. */
function useAddressToken(): AddressToken {
  const [opened, setOpened] = useState<AddressToken>(() => ({ token: tokenInAddress(), link: 0 }));
  useEffect(() => {
    removeFromAddress();
    const openNext = () => {
      if (location.hash === '') return;
      const token = tokenInAddress();
      removeFromAddress();
      setOpened(({ link }) => ({ token, link: link + 1 }));
    };
    window.addEventListener('hashchange', openNext);
    return () => window.removeEventListener('hashchange', openNext);
  }, []);
  return opened;
}

/** The secret must not stay in the address bar and the history. */
function removeFromAddress(): void {
  if (location.hash !== '') history.replaceState(history.state, '', location.pathname);
}
