import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { Compass, Lock, UserRound } from 'lucide-react';
import { useEffect } from 'react';
import { ApiProblem } from '../api/client.ts';
import { useMe } from '../api/session.ts';
import { LinkButton } from '../kit/button.tsx';
import { Card } from '../kit/card.tsx';
import { CopyButton } from '../kit/copy-button.tsx';
import { Page } from '../kit/page.tsx';
import { EmptyState, ErrorState } from '../kit/states.tsx';
import { codeOfMissingPage, reloadApp } from '../lazy-page.ts';
import { Wordmark } from './wordmark.tsx';

/** Within the frame of the app. */
export function NotFoundPage() {
  return (
    <div className="pt-[8vh] text-center">
      <Compass aria-hidden className="mx-auto mb-4 size-8 text-ink-faint" />
      <Page
        title="Page not found"
        description="The link may be outdated or mistyped, or you may not have access to this page."
        isCentered
      >
        <LinkButton to="/">Go to overview</LinkButton>
      </Page>
    </div>
  );
}

/** Outside the frame of the app, for people who have not signed in. */
export function UnknownAddressPage() {
  return (
    <div className="flex flex-col items-center px-4 pt-[10vh]">
      <header>
        <Wordmark />
      </header>
      <main>
        <NotFoundPage />
      </main>
    </div>
  );
}

/** In place of a page that failed to render. The frame around it stays. */
export function BrokenPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const isMissing = error instanceof ApiProblem && error.code === codeOfMissingPage;
  useEffect(() => console.error(error), [error]);
  const retry = async () => {
    if (isMissing) return await reloadApp();
    reset();
    await router.invalidate();
  };
  return (
    <div className="mx-auto max-w-lg px-4 pt-[8vh]">
      <Page title="Something went wrong" heading={<span className="sr-only">Something went wrong</span>}>
        <ErrorState error={error} title="This page could not be displayed" onRetry={retry} />
      </Page>
    </div>
  );
}

/** For a link to an account of others. Another account in its place would be mistaken for it. */
export function ForeignAccountPage() {
  const { user } = useMe();
  return (
    <div className="pt-[8vh] text-center">
      <Lock aria-hidden className="mx-auto mb-4 size-8 text-ink-faint" />
      <Page
        title="You do not have access to this account"
        description={`The link is about an account that ${user.email} is not a member of. Ask one of its owners, or the operator of this gateway, to add you.`}
        isCentered
      >
        <LinkButton to="/">Go to your overview</LinkButton>
      </Page>
    </div>
  );
}

/** For a signed-in person without an account. */
export function NoAccountPage() {
  const { user } = useMe();
  return (
    <Page title="Welcome">
      <Card>
        <EmptyState
          icon={UserRound}
          title="You do not have an account yet"
          action={<CopyButton text={user.email} label="Copy your e-mail" isWide />}
        >
          Keys, usage and balance belong to an account. Ask the operator of this gateway to add{' '}
          <strong className="font-medium text-ink wrap-anywhere">{user.email}</strong> to one. Then reload
          this page.
        </EmptyState>
      </Card>
    </Page>
  );
}
