/** Tells new customers that they have to verify their address, and sends the mail again. */
import { useMutation } from '@tanstack/react-query';
import { Mail } from 'lucide-react';
import { problemOf } from '../api/client.ts';
import { resendVerification, useMe } from '../api/session.ts';
import { Button } from '../kit/button.tsx';
import { Callout } from '../kit/callout.tsx';
import { showToast } from '../kit/toast.tsx';

export function VerifyEmailNote() {
  const { user } = useMe();
  if (!user.must_verify_email) return null;
  return (
    <div className="mb-6">
      <Callout tone="warn" title="Verify your e-mail address" actions={<ResendButton />}>
        Open the link in the mail to {user.email}. Until then you can look at everything, but change nothing.
      </Callout>
    </div>
  );
}

export function ResendButton() {
  const { user } = useMe();
  const resending = useMutation({
    mutationFn: resendVerification,
    onSuccess: () => showToast('good', `A new link is on its way to ${user.email}.`),
    onError: (error) => showToast('bad', problemOf(error).message),
  });
  return (
    <Button size="small" icon={Mail} isBusy={resending.isPending} onClick={() => resending.mutate()}>
      Send the mail again
    </Button>
  );
}
