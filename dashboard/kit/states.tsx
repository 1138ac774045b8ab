/** What is fetched, in each of its states: the space it will take, what went wrong, or the thing itself. */
import type { UseQueryResult } from '@tanstack/react-query';
import { CircleAlert, type LucideIcon, RotateCw, SearchX } from 'lucide-react';
import type { ReactNode } from 'react';
import { ApiProblem, problemOf } from '../api/client.ts';
import { Button } from './button.tsx';
import { Callout } from './callout.tsx';
import { classNames } from './class-names.ts';
import { CopyButton } from './copy-button.tsx';

type LoadedProps<Data> = Readonly<{
  query: UseQueryResult<Data>;
  /** As high as the content will be. */
  skeleton?: ReactNode;
  errorTitle?: string;
  children: (data: Data) => ReactNode;
}>;

export function Loaded<Data>({ query, skeleton, errorTitle, children }: LoadedProps<Data>) {
  // Data that is there stays, even when fetching it again fails.
  if (query.data !== undefined) return children(query.data);
  if (query.isError)
    return (
      <ErrorState
        error={query.error}
        onRetry={query.refetch}
        {...(errorTitle === undefined ? {} : { title: errorTitle })}
      />
    );
  return skeleton ?? <SkeletonLines />;
}

/** Stands where something will be, in its size, so that nothing moves when it arrives. */
export function Skeleton({ className }: Readonly<{ className?: string }>) {
  return (
    <span
      aria-hidden
      className={classNames('block animate-breathe rounded bg-hover', className ?? 'h-4 w-full')}
    />
  );
}

const lineWidths = ['w-11/12', 'w-4/5', 'w-full', 'w-2/3', 'w-10/12'];

export function SkeletonLines({ count = 3 }: Readonly<{ count?: number }>) {
  return (
    <div role="status" className="space-y-3">
      <span className="sr-only">Loading …</span>
      {Array.from({ length: count }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same and never move.
        <Skeleton key={at} className={`h-4 ${lineWidths[at % lineWidths.length]}`} />
      ))}
    </div>
  );
}

type EmptyStateProps = Readonly<{
  icon?: LucideIcon;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}>;

/** In place of a list that has nothing yet: what would be here, and what to do next. */
export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center px-4 py-12 text-center">
      {Icon !== undefined && (
        <span className="mb-3 grid size-10 place-items-center rounded-full bg-sunken text-ink-faint">
          <Icon aria-hidden className="size-5" />
        </span>
      )}
      <p className="font-medium">{title}</p>
      {children !== undefined && <div className="mt-1 max-w-md text-ink-soft">{children}</div>}
      {action !== undefined && <div className="mt-4 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

/** What happened, the ID to name when asking about it, and a way to try again. */
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

/** The message for a field, by its name on the wire. */
export function fieldProblem(error: unknown, param: string): string | null {
  if (error === null || error === undefined) return null;
  const problem = problemOf(error);
  return problem.param === param ? problem.message : null;
}

type FormProblemProps = Readonly<{
  error: unknown;
  /** The names of the fields that show their own. */
  fields?: readonly string[];
}>;

/** What a form was refused for: beside the field that is to blame, and otherwise above the button. */
export function FormProblem({ error, fields = [] }: FormProblemProps) {
  if (error === null || error === undefined) return null;
  const problem = problemOf(error);
  if (problem.param !== null && fields.includes(problem.param)) return null;
  return <ProblemNote problem={problem} />;
}

type FailedListProps = Readonly<{ error: unknown; onRetry: () => unknown; goToStart: () => void }>;

/** In place of a list that could not be loaded, or of a page of it that a link named and that is not there. */
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
