import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useRouter, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { placeAfterSignIn } from '../../address.ts';
import { signIn, signInOptionsQuery, wasSignedIn } from '../../api/session.ts';
import { textLinkClass } from '../../kit/class-names.ts';
import { CurrentPasswordField, EmailField } from '../../kit/field.tsx';
import { SignedOutForm } from '../../layout/signed-out.tsx';

export function SignInPage() {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const router = useRouter();
  const { next }: { next?: unknown } = useSearch({ strict: false });
  // Without a page to return to, the user came here on their own.
  const [hasEnded] = useState(() => next !== undefined && wasSignedIn());
  const options = useQuery(signInOptionsQuery);
  const signing = useMutation({
    mutationFn: () => signIn(email.trim(), password),
    onSuccess: () => router.history.push(placeAfterSignIn(next, location.origin)),
    onError: () => setPassword(''),
  });
  return (
    <SignedOutForm
      title="Sign in"
      description={hasEnded ? 'Your session has ended. Sign in again.' : undefined}
      submitLabel="Sign in"
      action={signing}
      footer={
        options.data?.sign_up === 'open' ? (
          <>
            New here?{' '}
            <Link to="/sign-up" search={next === undefined ? {} : { next }} className={textLinkClass}>
              Create an account
            </Link>
          </>
        ) : undefined
      }
    >
      <EmailField value={email} onChange={setEmail} hasFocus />
      <CurrentPasswordField
        label="Password"
        value={password}
        onChange={setPassword}
        aside={
          <Link to="/forgot-password" className={textLinkClass}>
            Forgot password?
          </Link>
        }
      />
    </SignedOutForm>
  );
}
