/** A link into the middle of a list that can no longer be followed. */
import { SearchX } from 'lucide-react';
import { ApiProblem } from '../../api/problem.ts';
import { Button } from '../../kit/button.tsx';
import { EmptyState } from '../../kit/empty-state.tsx';
import { ErrorState } from '../../kit/error-state.tsx';

type FailedListProps = Readonly<{ error: unknown; onRetry: () => unknown; goToStart: () => void }>;

export function FailedList({ error, onRetry, goToStart }: FailedListProps) {
  if (!(error instanceof ApiProblem && error.code === 'invalid_cursor'))
    return <ErrorState error={error} onRetry={onRetry} />;
  return (
    <EmptyState
      icon={SearchX}
      title="This page of the list is no longer there"
      action={<Button onClick={goToStart}>To the newest</Button>}
    >
      The link to it is not one that this gateway made.
    </EmptyState>
  );
}
