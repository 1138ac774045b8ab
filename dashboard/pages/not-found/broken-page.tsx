import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { ApiProblem } from '../../api/problem.ts';
import { ErrorState } from '../../kit/error-state.tsx';
import { Page } from '../../kit/page.tsx';
import { codeOfMissingPage, startAgain } from '../../lazy-page.ts';

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
