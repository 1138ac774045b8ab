/** Invites someone, by a link that is shown once or, where the gateway can send mail, by mail. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { NewInvitation, Role } from '../../../src/console/contract.ts';
import { signInOptionsQuery, useAccount } from '../../api/session.ts';
import { Callout } from '../../kit/callout.tsx';
import { FormDialog } from '../../kit/dialog.tsx';
import { Field, Input, Select } from '../../kit/field.tsx';
import { Time } from '../../kit/figures.tsx';
import { OneTimeDialog } from '../../kit/one-time-dialog.tsx';
import { fieldProblem } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';
import { useInvite } from './queries.ts';

const roles = [
  { value: 'member', label: 'Member' },
  { value: 'owner', label: 'Owner' },
] as const;

export function InviteDialog({ onClose }: Readonly<{ onClose: () => void }>) {
  const { name } = useAccount();
  const canMail = useQuery(signInOptionsQuery).data?.password_reset === 'email';
  const [role, setRole] = useState<Role>('member');
  const [email, setEmail] = useState('');
  const inviting = useInvite();
  const address = canMail ? email.trim() : '';
  const invite = () =>
    inviting.mutate(
      { role, email: address === '' ? null : address },
      {
        onSuccess: ({ url }) => {
          if (url !== null) return;
          showToast('good', `The invitation is on its way to ${address}.`);
          onClose();
        },
      },
    );
  if (inviting.data !== undefined && inviting.data.url !== null)
    return <InvitationLink newInvitation={inviting.data} url={inviting.data.url} onClose={onClose} />;
  return (
    <FormDialog
      title={`Invite someone to ${name}`}
      description="They sign in, or create a login, to join this account."
      submitLabel={address === '' ? 'Create link' : 'Send invitation'}
      isBusy={inviting.isPending}
      error={inviting.error}
      ownFields={['email', 'role']}
      onClose={onClose}
      onSubmit={invite}
    >
      <Field
        label="Role"
        hint="Owners manage keys and members. Members can view everything and use the playground."
        error={fieldProblem(inviting.error, 'role')}
      >
        <Select value={role} options={roles} onChange={setRole} />
      </Field>
      {canMail && (
        <Field
          label="E-mail"
          isOptional
          hint="The invitation is sent there, and only this address can accept it. Without one, you get a link to send yourself."
          error={fieldProblem(inviting.error, 'email')}
        >
          <Input
            type="email"
            autoComplete="off"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        </Field>
      )}
    </FormDialog>
  );
}

type InvitationLinkProps = Readonly<{ newInvitation: NewInvitation; url: string; onClose: () => void }>;

function InvitationLink({ newInvitation: { invitation }, url, onClose }: InvitationLinkProps) {
  const { name } = useAccount();
  const roleWords = invitation.role === 'owner' ? 'an owner' : 'a member';
  return (
    <OneTimeDialog
      title={`Invitation to ${name}`}
      secret={url}
      copyLabel="Copy link"
      testId="invitation-link"
      doneLabel="I have sent it"
      onClose={onClose}
      introduction={
        <p className="text-ink-soft">
          Send this link over a private channel. Whoever opens it first can join as {roleWords}.
        </p>
      }
    >
      <Callout tone="warn" title="Copy it now: it is shown only once">
        It works once and expires on <Time at={invitation.expires_at} />. You can revoke it until then.
      </Callout>
    </OneTimeDialog>
  );
}
