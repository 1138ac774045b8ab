/** What is fetched, in each of its states: the space it will take, what went wrong, or the thing itself. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorState } from './error-state.tsx';
import { SkeletonLines } from './skeleton.tsx';

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
