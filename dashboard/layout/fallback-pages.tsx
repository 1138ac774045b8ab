import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { Compass, UserRound } from 'lucide-react';
import { useEffect } from 'react';
import { ApiProblem } from '../api/client.ts';
import { useMe } from '../api/session.ts';
import { LinkButton } from '../kit/button.tsx';
import { Card } from '../kit/card.tsx';
import { CopyButton } from '../kit/copy-button.tsx';
import { Page } from '../kit/page.tsx';
import { EmptyState, ErrorState } from '../kit/states.tsx';
import { codeOfMissingPage, startAgain } from '../lazy-page.ts';
import { Wordmark } from './wordmark.tsx';

/** Within the frame that a page is missing in. */
export function NotFoundPage() {
  return (
    <div className="pt-[8vh] text-center">
      <Compass aria-hidden className="mx-auto mb-4 size-8 text-ink-faint" />
      <Page
        title="Nothing is at this address"
        description="The link may be old or mistyped, or you may not see what is there."
        isCentered
      >
        <LinkButton to="/">To the overview</LinkButton>
      </Page>
    </div>
  );
}

/** For an address of no frame at all. */
export function UnknownAddressPage() {
  return (
    <div className="flex flex-col items-center px-4 pt-[10vh]">
      <Wordmark />
      <main>
        <NotFoundPage />
      </main>
    </div>
  );
}

/** In place of a page that could not be made: the frame around it stays. */
export function BrokenPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const isMissing = error instanceof ApiProblem && error.code === codeOfMissingPage;
  useEffect(() => console.error(error), [error]);
  const retry = async () => {
    if (isMissing) return await startAgain();
    reset();
    await router.invalidate();
  };
  return (
    <div className="mx-auto max-w-lg px-4 pt-[8vh]">
      <Page title="Something went wrong" heading={<span className="sr-only">Something went wrong</span>}>
        <ErrorState error={error} title="This page could not be shown" onRetry={retry} />
      </Page>
    </div>
  );
}

/** For a person who is signed in and belongs to no account yet. */
export function NoAccountPage() {
  const { user } = useMe();
  return (
    <Page title="Welcome">
      <Card>
        <EmptyState
          icon={UserRound}
          title="You belong to no account yet"
          action={<CopyButton text={user.email} label="Copy your e-mail" isWide />}
        >
          Keys, usage and balance belong to an account. Ask the operator of this gateway, or the owner of an
          account, to add <strong className="font-medium text-ink wrap-anywhere">{user.email}</strong>. Then
          load this page again.
        </EmptyState>
      </Card>
    </Page>
  );
}
