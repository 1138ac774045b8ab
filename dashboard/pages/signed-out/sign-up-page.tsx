import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useRouter, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { placeAfterSignIn } from '../../address.ts';
import { signInOptionsQuery, signUp } from '../../api/session.ts';
import { textLinkClass } from '../../kit/class-names.ts';
import { EmailField, Field, Input, NewPasswordField } from '../../kit/field.tsx';
import { fieldProblem } from '../../kit/states.tsx';
import { SignedOutForm, SignedOutMessage } from '../../layout/signed-out.tsx';

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
    <SignedOutForm
      title="Create an account"
      submitLabel="Create account"
      action={signing}
      ownFields={['name', 'email', 'password']}
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
      <EmailField value={email} onChange={setEmail} error={fieldProblem(signing.error, 'email')} />
      <NewPasswordField
        label="Password"
        value={password}
        onChange={setPassword}
        error={fieldProblem(signing.error, 'password')}
      />
    </SignedOutForm>
  );
}

function Closed() {
  return (
    <SignedOutMessage title="Sign-up is closed">
      Accounts on this gateway are created by its operator, who can send you a link to set a password.
    </SignedOutMessage>
  );
}
