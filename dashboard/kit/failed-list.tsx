/** In place of a list that could not be loaded, or of a page of it that a link named and that is not there. */
import { SearchX } from 'lucide-react';
import { ApiProblem } from '../api/problem.ts';
import { Button } from './button.tsx';
import { EmptyState } from './empty-state.tsx';
import { ErrorState } from './error-state.tsx';

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
      The link to it is too old, or was made for another list.
    </EmptyState>
  );
}
