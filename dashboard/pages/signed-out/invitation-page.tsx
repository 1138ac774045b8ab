/** Where the link of an invitation leads: users who are signed in join, and others sign in or create a sign-in first. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import type { InvitationDetails } from '../../../src/people/sign-in-contract.ts';
import { useAddressToken } from '../../address-token.ts';
import { ApiProblem } from '../../api/client.ts';
import {
  acceptInvitation,
  currentSessionQuery,
  findInvitation,
  signOut,
  signUpInvited,
} from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Page } from '../../kit/page.tsx';
import { ErrorState, FormProblem, SkeletonLines } from '../../kit/states.tsx';
import { SignedOutForm, SignedOutMessage } from '../../layout/signed-out.tsx';
import { type NewUser, NewUserFields } from './new-user-fields.tsx';

/** Survives the way to the sign-in page and back, but not a reload: it is not stored. */
let openedToken = '';

/** Each link starts over, whatever happened with the previous one. */
export function InvitationPage() {
  const { token, link } = useAddressToken();
  const [signOuts, setSignOuts] = useState(0);
  if (token !== '') openedToken = token;
  return (
    <InvitationOf
      // Data from before a sign-out is gone, so it starts over as well.
      key={`${link} ${signOuts}`}
      token={openedToken}
      onSignedOut={() => setSignOuts(signOuts + 1)}
    />
  );
}

function InvitationOf({ token, onSignedOut }: Readonly<{ token: string; onSignedOut: () => void }>) {
  const invitation = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => findInvitation(token),
    enabled: token !== '',
    staleTime: Number.POSITIVE_INFINITY,
  });
  const session = useQuery(currentSessionQuery);
  if (token === '' || isUnusable(invitation.error)) return <UnusableLink />;
  const error = invitation.error ?? session.error;
  if (error !== null)
    return (
      <Page title="Invitation" isCentered>
        <Card>
          <ErrorState error={error} onRetry={() => Promise.all([invitation.refetch(), session.refetch()])} />
        </Card>
      </Page>
    );
  if (invitation.data === undefined || session.data === undefined)
    return (
      <Page title="Invitation" isCentered>
        <Card>
          <SkeletonLines count={4} />
        </Card>
      </Page>
    );
  const props = { token, invitation: invitation.data };
  return session.data === null ? (
    <SignUpForm {...props} />
  ) : (
    <JoinForm {...props} email={session.data.user.email} onSignedOut={onSignedOut} />
  );
}

function isUnusable(error: unknown): boolean {
  return error instanceof ApiProblem && error.code === 'invalid_invitation' && error.param === null;
}

function UnusableLink() {
  return (
    <SignedOutMessage title="This invitation does not work">
      It was already used, was revoked, has expired or was not copied completely. Open the link again, or ask
      for a new one.
    </SignedOutMessage>
  );
}

type InvitationProps = Readonly<{ token: string; invitation: InvitationDetails }>;

const titleOf = ({ accountName }: InvitationDetails) => `Join ${accountName}`;
const roleWords = ({ role }: InvitationDetails) => (role === 'owner' ? 'an owner' : 'a member');

/** The token is no longer of use. */
function useEnter() {
  const router = useRouter();
  return () => {
    openedToken = '';
    router.history.push('/');
  };
}

type JoinFormProps = InvitationProps & Readonly<{ email: string; onSignedOut: () => void }>;

function JoinForm({ token, invitation, email, onSignedOut }: JoinFormProps) {
  const enter = useEnter();
  const joining = useMutation({ mutationFn: () => acceptInvitation(token), onSuccess: enter });
  const leaving = useMutation({ mutationFn: () => signOut(async () => {}), onSuccess: onSignedOut });
  if (isUnusable(joining.error)) return <UnusableLink />;
  return (
    <Page
      title={titleOf(invitation)}
      isCentered
      description={`You are invited as ${roleWords(invitation)} of this account.`}
    >
      <Card>
        <div className="space-y-4">
          <p className="text-center text-ink-soft">
            You are signed in as <strong className="font-medium text-ink wrap-anywhere">{email}</strong>.
          </p>
          <FormProblem error={joining.error ?? leaving.error} />
          <Button
            variant="primary"
            isBusy={joining.isPending}
            onClick={() => joining.mutate()}
            className="w-full"
          >
            Join
          </Button>
          <Button isBusy={leaving.isPending} onClick={() => leaving.mutate()} className="w-full">
            Use another sign-in
          </Button>
        </div>
      </Card>
    </Page>
  );
}

function SignUpForm({ token, invitation }: InvitationProps) {
  const enter = useEnter();
  const [user, setUser] = useState<NewUser>({ name: '', email: invitation.email ?? '', password: '' });
  const signing = useMutation({
    mutationFn: () => signUpInvited({ ...user, token, name: user.name.trim(), email: user.email.trim() }),
    onSuccess: enter,
  });
  if (isUnusable(signing.error)) return <UnusableLink />;
  return (
    <SignedOutForm
      title={titleOf(invitation)}
      description={`You are invited as ${roleWords(invitation)} of this account. Create a login to join it.`}
      submitLabel="Create login and join"
      action={signing}
      ownFields={['name', 'email', 'password']}
      footer={
        <>
          Already have a login?{' '}
          <Link to="/sign-in" search={{ next: '/invitation' }} className={textLinkClass}>
            Sign in
          </Link>
        </>
      }
    >
      <NewUserFields user={user} onChange={setUser} error={signing.error} />
    </SignedOutForm>
  );
}
