/** What stands in for content: while it loads, when there is none, and when something failed. */
import type { UseQueryResult } from '@tanstack/react-query';
import { CircleAlert, type LucideIcon, RotateCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { problemOf } from '../api/client.ts';
import { Button } from './button.tsx';
import { Callout } from './callout.tsx';
import { classNames } from './class-names.ts';
import { RequestId } from './copy-button.tsx';
import { useKeptFocus } from './keep-focus.ts';

type LoadedProps<Data> = Readonly<{
  query: UseQueryResult<Data>;
  /** As tall as the content will be. */
  skeleton?: ReactNode;
  errorTitle?: string;
  children: (data: Data) => ReactNode;
}>;

/** Shows what a query fetched. Data stays on the screen even if fetching it again fails. */
export function Loaded<Data>({ query, skeleton, errorTitle, children }: LoadedProps<Data>) {
  if (query.data !== undefined) return children(query.data);
  if (query.isError) return <ErrorState error={query.error} title={errorTitle} onRetry={query.refetch} />;
  return skeleton ?? <SkeletonLines />;
}

/** Takes the space of what is being loaded, so that nothing moves when it arrives. */
export function Skeleton({ className = 'h-4 w-full' }: Readonly<{ className?: string }>) {
  return <span aria-hidden className={classNames('block animate-breathe rounded bg-hover', className)} />;
}

const lineWidths = ['w-11/12', 'w-4/5', 'w-full', 'w-2/3', 'w-10/12'];

/** Placeholders, announced to screen readers. */
export function Loading({ className, children }: Readonly<{ className?: string; children: ReactNode }>) {
  return (
    <div role="status" className={className}>
      <span className="sr-only">Loading …</span>
      {children}
    </div>
  );
}

export function SkeletonLines({ count = 3 }: Readonly<{ count?: number }>) {
  return (
    <Loading className="space-y-3">
      {Array.from({ length: count }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are identical and never move.
        <Skeleton key={at} className={`h-4 ${lineWidths[at % lineWidths.length]}`} />
      ))}
    </Loading>
  );
}

type EmptyStateProps = Readonly<{
  icon?: LucideIcon;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}>;

/** In place of an empty list: what would be here, and what to do next. */
export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center px-4 py-8 text-center">
      {Icon !== undefined && (
        <span className="mb-2 grid size-8 place-items-center rounded-full bg-sunken text-ink-faint">
          <Icon aria-hidden className="size-4" />
        </span>
      )}
      <p className="font-medium">{title}</p>
      {children !== undefined && <div className="mt-1 max-w-md text-balance text-ink-soft">{children}</div>}
      {action !== undefined && <div className="mt-4 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

type ErrorStateProps = Readonly<{ error: unknown; title?: string | undefined; onRetry?: () => unknown }>;

/** In place of content that could not be loaded. */
export function ErrorState({ error, title = 'This could not be loaded', onRetry }: ErrorStateProps) {
  const problem = problemOf(error);
  useKeptFocus();
  return (
    <div role="alert" className="flex flex-col items-center px-4 py-10 text-center">
      <CircleAlert aria-hidden className="size-6 text-bad" />
      <p className="mt-3 font-medium">{title}</p>
      <p className="mt-1 max-w-md text-ink-soft wrap-anywhere">{problem.message}</p>
      <RequestIdLine id={problem.requestId} />
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

function RequestIdLine({ id }: Readonly<{ id: string | null }>) {
  if (id === null) return null;
  return (
    <p className="mt-2 inline-flex max-w-full flex-wrap items-center gap-x-1 text-xs text-ink-faint">
      Request ID <RequestId id={id} />
    </p>
  );
}

/** The error of a field, by its name on the wire. */
export function fieldProblem(error: unknown, param: string): string | null {
  if (error === null || error === undefined) return null;
  const problem = problemOf(error);
  return problem.param === param ? problem.message : null;
}

type FormProblemProps = Readonly<{
  error: unknown;
  /** The names of the fields that show their own errors. */
  fields?: readonly string[] | undefined;
}>;

/** The error of a form, above its button, unless the field to blame shows it. */
export function FormProblem({ error, fields = [] }: FormProblemProps) {
  if (error === null || error === undefined) return null;
  const { message, param, status, requestId } = problemOf(error);
  if (param !== null && fields.includes(param)) return null;
  return (
    <Callout tone="bad" isUrgent>
      <p className="text-ink">{message}</p>
      <RequestIdLine id={status >= 500 ? requestId : null} />
    </Callout>
  );
}
