import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useRouter, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { placeAfterSignIn } from '../../address.ts';
import { signIn, signInOptionsQuery, wasSignedIn } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Field, Input } from '../../kit/field.tsx';
import { FormProblem } from '../../kit/states.tsx';
import { SignedOutCard } from '../../layout/signed-out.tsx';

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
    <SignedOutCard
      title="Sign in"
      description={hasEnded ? 'Your session has ended. Sign in again.' : undefined}
      onSubmit={signing.mutate}
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
      <Field label="E-mail">
        <Input
          type="email"
          name="email"
          autoComplete="username"
          autoFocus
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
      </Field>
      <Field
        label="Password"
        aside={
          <Link to="/forgot-password" className={textLinkClass}>
            Forgot password?
          </Link>
        }
      >
        <Input
          type="password"
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </Field>
      <FormProblem error={signing.error} />
      <Button type="submit" variant="primary" isBusy={signing.isPending} className="w-full">
        Sign in
      </Button>
    </SignedOutCard>
  );
}
