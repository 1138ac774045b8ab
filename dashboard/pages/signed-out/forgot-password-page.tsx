import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { requestPasswordReset, signInOptionsQuery } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Field, Input } from '../../kit/field.tsx';
import { FormProblem, Loaded } from '../../kit/states.tsx';
import { SignedOutCard, SignedOutMessage } from '../../layout/signed-out.tsx';

export function ForgotPasswordPage() {
  const options = useQuery(signInOptionsQuery);
  return (
    <Loaded query={options}>
      {({ password_reset }) => (password_reset === 'email' ? <RequestForm /> : <AskTheOperator />)}
    </Loaded>
  );
}

function RequestForm() {
  const [email, setEmail] = useState('');
  const asking = useMutation({
    mutationFn: () => requestPasswordReset(email.trim()),
  });
  if (asking.isSuccess)
    return (
      <SignedOutMessage title="Check your e-mail">
        If an account exists for{' '}
        <strong className="font-medium text-ink wrap-anywhere">{email.trim()}</strong>, a link to set a new
        password is on its way.
      </SignedOutMessage>
    );
  return (
    <SignedOutCard
      title="Forgot your password?"
      description="We will e-mail you a link to set a new one."
      onSubmit={asking.mutate}
      footer={
        <Link to="/sign-in" className={textLinkClass}>
          Back to sign-in
        </Link>
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
      <FormProblem error={asking.error} />
      <Button type="submit" variant="primary" isBusy={asking.isPending} className="w-full">
        Send link
      </Button>
    </SignedOutCard>
  );
}

function AskTheOperator() {
  return (
    <SignedOutMessage title="Ask the operator">
      This gateway does not send e-mail. Its operator can create a link for you to set a new password.
    </SignedOutMessage>
  );
}
