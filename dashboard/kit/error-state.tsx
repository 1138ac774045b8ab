/** What happened, the ID to name when asking about it, and a way to try again. */
import { CircleAlert, RotateCw } from 'lucide-react';
import { type ApiProblem, problemOf } from '../api/problem.ts';
import { Button } from './button.tsx';
import { Callout } from './callout.tsx';
import { CopyButton } from './copy-button.tsx';

type ErrorStateProps = Readonly<{ error: unknown; title?: string; onRetry?: () => unknown }>;

/** In place of something that could not be loaded. */
export function ErrorState({ error, title = 'This could not be loaded', onRetry }: ErrorStateProps) {
  const problem = problemOf(error);
  return (
    <div role="alert" className="flex flex-col items-center px-4 py-10 text-center">
      <CircleAlert aria-hidden className="size-6 text-bad" />
      <p className="mt-3 font-medium">{title}</p>
      <p className="mt-1 max-w-md text-ink-soft wrap-anywhere">{problem.message}</p>
      <RequestId id={problem.requestId} />
      {onRetry !== undefined && (
        <div className="mt-4">
          <Button icon={RotateCw} onClick={() => onRetry()}>
            Try again
          </Button>
        </div>
      )}
    </div>
  );
}

/** Beside a form or a button that failed. */
export function ProblemNote({ problem }: Readonly<{ problem: ApiProblem }>) {
  return (
    <Callout tone="bad" isUrgent>
      <p className="text-ink">{problem.message}</p>
      <RequestId id={problem.status >= 500 ? problem.requestId : null} />
    </Callout>
  );
}

function RequestId({ id }: Readonly<{ id: string | null }>) {
  if (id === null) return null;
  return (
    <p className="mt-2 inline-flex max-w-full flex-wrap items-center gap-x-1 text-xs text-ink-faint">
      Request ID <code className="font-mono wrap-anywhere">{id}</code>
      <CopyButton text={id} label="Copy the request ID" />
    </p>
  );
}
