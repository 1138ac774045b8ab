import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ApiProblem } from '../../api/client.ts';
import { resetPassword, signInOptionsQuery } from '../../api/session.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { NewPasswordField } from '../../kit/field.tsx';
import { FormProblem, fieldProblem } from '../../kit/states.tsx';
import { SignedOutCard } from '../../layout/signed-out.tsx';

/** A new link begins anew, whatever became of the one before. */
export function ResetPasswordPage() {
  const { token, link } = useAddressToken();
  return <ResetPassword key={link} token={token} />;
}

function ResetPassword({ token }: Readonly<{ token: string }>) {
  const [password, setPassword] = useState('');
  const resetting = useMutation({
    mutationFn: () => resetPassword(token, password),
  });
  const isUnusable =
    token === '' || (resetting.error instanceof ApiProblem && resetting.error.code === 'invalid_reset_token');
  if (resetting.isSuccess)
    return (
      <SignedOutCard title="Your password is set">
        <div className="space-y-4 text-center">
          <p className="text-ink-soft">Sign in with it. Every earlier session has ended.</p>
          <LinkButton to="/sign-in" variant="primary">
            Sign in
          </LinkButton>
        </div>
      </SignedOutCard>
    );
  if (isUnusable) return <UnusableLink />;
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

function UnusableLink() {
  const options = useQuery(signInOptionsQuery);
  const isMailed = options.data?.password_reset === 'email';
  return (
    <SignedOutCard title="This link does not work">
      <div className="space-y-4 text-center">
        <p className="text-ink-soft">
          It was used already, is too old or was not copied whole.{' '}
          {isMailed ? 'Ask for a new one.' : 'Ask the operator of this gateway for a new one.'}
        </p>
        {isMailed ? (
          <LinkButton to="/forgot-password" variant="primary">
            Get a new link
          </LinkButton>
        ) : (
          <LinkButton to="/sign-in">To the sign-in</LinkButton>
        )}
      </div>
    </SignedOutCard>
  );
}

/** `link` is another number for each link that was opened, be its token the same or not. */
type AddressToken = Readonly<{ token: string; link: number }>;

/** The token stands behind the #, which browsers keep to themselves: it is in no log. */
function tokenInAddress(): string {
  return new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
}

/** The token of the link that brought one here, and of each that is opened in the same tab afterwards. */
export function useAddressToken(): AddressToken {
  const [opened, setOpened] = useState<AddressToken>(() => ({ token: tokenInAddress(), link: 0 }));
  useEffect(() => {
    forgetInAddress();
    const openNext = () => {
      if (location.hash === '') return;
      const token = tokenInAddress();
      forgetInAddress();
      setOpened(({ link }) => ({ token, link: link + 1 }));
    };
    window.addEventListener('hashchange', openNext);
    return () => window.removeEventListener('hashchange', openNext);
  }, []);
  return opened;
}

/** A secret that has been read is not left in the address bar and the history. */
function forgetInAddress(): void {
  if (location.hash !== '') history.replaceState(history.state, '', location.pathname);
}
