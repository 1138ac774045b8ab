import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useRouter, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { placeAfterSignIn } from '../../address.ts';
import { signInOptionsQuery, signUp } from '../../api/session.ts';
import { textLinkClass } from '../../kit/class-names.ts';
import { SignedOutForm, SignedOutMessage } from '../../layout/signed-out.tsx';
import { type NewUser, NewUserFields } from './new-user-fields.tsx';

export function SignUpPage() {
  const options = useQuery(signInOptionsQuery);
  return options.data?.sign_up === 'closed' ? <Closed /> : <SignUpForm />;
}

function SignUpForm() {
  const [user, setUser] = useState<NewUser>({ name: '', email: '', password: '' });
  const router = useRouter();
  const { next }: { next?: unknown } = useSearch({ strict: false });
  const signing = useMutation({
    mutationFn: () => signUp(user.name.trim(), user.email.trim(), user.password),
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
      <NewUserFields user={user} onChange={setUser} error={signing.error} />
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
