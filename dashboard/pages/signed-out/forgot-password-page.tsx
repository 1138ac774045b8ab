import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { requestPasswordReset, signInOptionsQuery } from '../../api/session.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Field, Input } from '../../kit/field.tsx';
import { FormProblem, Loaded } from '../../kit/states.tsx';
import { SignedOutCard } from '../../layout/signed-out.tsx';

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
      <Message title="Look into your mailbox">
        If <strong className="font-medium text-ink wrap-anywhere">{email.trim()}</strong> belongs to a person
        here, a link to choose a new password is on its way.
      </Message>
    );
  return (
    <SignedOutCard
      title="Choose a new password"
      description="We send you a link for it."
      onSubmit={asking.mutate}
      footer={
        <Link to="/sign-in" className={textLinkClass}>
          Back to the sign-in
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
        Send the link
      </Button>
    </SignedOutCard>
  );
}

function AskTheOperator() {
  return (
    <Message title="Ask the operator">
      This gateway sends no mail. Its operator can make a link for you with which you choose a new password.
    </Message>
  );
}

function Message({ title, children }: Readonly<{ title: string; children: React.ReactNode }>) {
  return (
    <SignedOutCard title={title}>
      <div className="space-y-4 text-center">
        <p className="text-ink-soft">{children}</p>
        <LinkButton to="/sign-in">To the sign-in</LinkButton>
      </div>
    </SignedOutCard>
  );
}
