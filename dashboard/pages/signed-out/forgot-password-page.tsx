import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { requestPasswordReset, signInOptionsQuery } from '../../api/session.ts';
import { EmailField } from '../../kit/field.tsx';
import { Loaded } from '../../kit/states.tsx';
import { BackToSignIn, SignedOutForm, SignedOutMessage } from '../../layout/signed-out.tsx';

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
  const requesting = useMutation({ mutationFn: () => requestPasswordReset(email.trim()) });
  if (requesting.isSuccess)
    return (
      <SignedOutMessage title="Check your e-mail">
        If an account exists for{' '}
        <strong className="font-medium text-ink wrap-anywhere">{email.trim()}</strong>, a link to set a new
        password is on its way.
      </SignedOutMessage>
    );
  return (
    <SignedOutForm
      title="Forgot your password?"
      description="We will e-mail you a link to set a new one."
      submitLabel="Send link"
      action={requesting}
      footer={<BackToSignIn />}
    >
      <EmailField value={email} onChange={setEmail} hasFocus />
    </SignedOutForm>
  );
}

function AskTheOperator() {
  return (
    <SignedOutMessage title="Ask the operator">
      This gateway does not send e-mail. Its operator can create a link for you to set a new password. If you
      are the operator, run:
      <code className="mt-2 block font-mono text-[0.8125rem] text-ink">tollgate user reset-link EMAIL</code>
      <span className="mt-2 block">
        In a checkout, write <code className="font-mono text-[0.8125rem]">npx tollgate</code> instead.
      </span>
    </SignedOutMessage>
  );
}
