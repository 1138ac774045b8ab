import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useRouter, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { placeAfterSignIn } from '../../address.ts';
import { signInOptionsQuery, signUp } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Field, Input, NewPasswordField } from '../../kit/field.tsx';
import { FormProblem, fieldProblem } from '../../kit/states.tsx';
import { SignedOutCard, SignedOutMessage } from '../../layout/signed-out.tsx';

export function SignUpPage() {
  const options = useQuery(signInOptionsQuery);
  return options.data?.sign_up === 'closed' ? <Closed /> : <SignUpForm />;
}

function SignUpForm() {
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const router = useRouter();
  const { next }: { next?: unknown } = useSearch({ strict: false });
  const signing = useMutation({
    mutationFn: () => signUp(name.trim(), email.trim(), password),
    onSuccess: () => router.history.push(placeAfterSignIn(next, location.origin)),
  });
  return (
    <SignedOutCard
      title="Create an account"
      onSubmit={signing.mutate}
      footer={
        <>
          Already have an account?{' '}
          <Link to="/sign-in" search={next === undefined ? {} : { next }} className={textLinkClass}>
            Sign in
          </Link>
        </>
      }
    >
      <Field label="Name" error={fieldProblem(signing.error, 'name')}>
        <Input
          name="name"
          autoComplete="name"
          autoFocus
          required
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Field label="E-mail" error={fieldProblem(signing.error, 'email')}>
        <Input
          type="email"
          name="email"
          autoComplete="username"
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
      </Field>
      <NewPasswordField
        label="Password"
        value={password}
        onChange={setPassword}
        error={fieldProblem(signing.error, 'password')}
      />
      <FormProblem error={signing.error} fields={['name', 'email', 'password']} />
      <Button type="submit" variant="primary" isBusy={signing.isPending} className="w-full">
        Create account
      </Button>
    </SignedOutCard>
  );
}

function Closed() {
  return (
    <SignedOutMessage title="Sign-up is closed">
      Accounts on this gateway are created by its operator, who can send you a link to set a password.
    </SignedOutMessage>
  );
}
