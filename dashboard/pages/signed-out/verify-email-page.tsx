/** Where the link of a verification mail leads. Only who has signed up with the address can use it, so they sign in first. */
import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useAddressToken } from '../../address-token.ts';
import { ApiProblem } from '../../api/client.ts';
import { currentSessionQuery, verifyEmail } from '../../api/session.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Page } from '../../kit/page.tsx';
import { ErrorState, SkeletonLines } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';
import { SignedOutMessage } from '../../layout/signed-out.tsx';

const title = 'Verify your e-mail address';

/** Survives the way to the sign-in page and back, but not a reload: it is not stored. */
let openedToken = '';

/** Each link starts over, whatever happened with the previous one. */
export function VerifyEmailPage() {
  const { token, link } = useAddressToken();
  if (token !== '') openedToken = token;
  return <VerifyEmail key={link} token={openedToken} />;
}

function VerifyEmail({ token }: Readonly<{ token: string }>) {
  const session = useQuery(currentSessionQuery);
  if (session.isError) return <Problem error={session.error} onRetry={session.refetch} />;
  if (session.data === undefined) return <Waiting />;
  if (session.data === null)
    return (
      <SignedOutMessage
        title={title}
        action={
          <LinkButton to="/sign-in" search={{ next: '/verify-email' }} variant="primary">
            Sign in
          </LinkButton>
        }
      >
        Sign in with the password that you chose when you signed up.
      </SignedOutMessage>
    );
  if (session.data.user.emailVerified) return <Verified />;
  return token === '' ? <UnusableLink /> : <Verifying token={token} />;
}

/** One request for each link, although the page may be rendered several times. */
function Verifying({ token }: Readonly<{ token: string }>) {
  const verifying = useQuery({
    queryKey: ['verify-email', token],
    queryFn: () => verifyEmail(token),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (verifying.isSuccess) return <Verified />;
  if (verifying.isPending) return <Waiting />;
  const { error } = verifying;
  if (error instanceof ApiProblem && error.code === 'invalid_verification_token') return <UnusableLink />;
  return <Problem error={error} onRetry={verifying.refetch} />;
}

function Verified() {
  useEffect(() => {
    openedToken = '';
    showToast('good', 'Your e-mail address is verified.');
  }, []);
  return <Navigate to="/" replace />;
}

function UnusableLink() {
  return (
    <SignedOutMessage
      title="This link does not work"
      action={
        <LinkButton to="/" variant="primary">
          Get a new link
        </LinkButton>
      }
    >
      It was already used, has expired, was not copied completely, or is for another login than the one that
      is signed in.
    </SignedOutMessage>
  );
}

function Waiting() {
  return (
    <Page title={title} isCentered>
      <Card>
        <SkeletonLines count={3} />
      </Card>
    </Page>
  );
}

function Problem({ error, onRetry }: Readonly<{ error: unknown; onRetry: () => Promise<unknown> }>) {
  return (
    <Page title={title} isCentered>
      <Card>
        <ErrorState error={error} onRetry={onRetry} />
      </Card>
    </Page>
  );
}
