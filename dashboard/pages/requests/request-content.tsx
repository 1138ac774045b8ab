/** One request in detail, whatever became of it. */
import type { UseQueryResult } from '@tanstack/react-query';
import { SearchX } from 'lucide-react';
import type { ComponentType } from 'react';
import type { RequestDetail } from '../../../src/console/request-contract.ts';
import { ApiProblem } from '../../api/client.ts';
import { Card } from '../../kit/card.tsx';
import { EmptyState, ErrorState, SkeletonLines } from '../../kit/states.tsx';
import { Figures, GenerationContent, type GenerationRequest } from './generation-content.tsx';
import { RefusalContent } from './refusal-content.tsx';
import { useScope } from './scope.ts';

/** What differs between customers and operators: why a request failed, and what can be done about it. */
export type Extras = Readonly<{
  Notes: ComponentType<Readonly<{ generation: GenerationRequest }>>;
  Actions?: ComponentType<Readonly<{ generation: GenerationRequest }>>;
}>;

type RequestContentProps = Readonly<{ query: UseQueryResult<RequestDetail>; extras: Extras }>;

export function RequestContent({ query, extras: { Notes } }: RequestContentProps) {
  const { data } = query;
  if (data?.kind === 'refusal') return <RefusalContent refusal={data.request} />;
  if (data !== undefined)
    return <GenerationContent generation={data.request} notes={<Notes generation={data.request} />} />;
  if (query.isError)
    return (
      <Card>
        {query.error instanceof ApiProblem && query.error.status === 404 ? (
          <Missing />
        ) : (
          <ErrorState error={query.error} onRetry={query.refetch} />
        )}
      </Card>
    );
  return (
    <div className="@container space-y-6">
      <Figures generation={undefined} />
      <Card>
        <SkeletonLines count={8} />
      </Card>
    </div>
  );
}

function Missing() {
  const { isOperator } = useScope();
  return (
    <EmptyState
      icon={SearchX}
      title={isOperator ? 'No account has this request' : 'No such request in this account'}
    >
      Check the ID. The request may {isOperator ? '' : 'belong to another account or '}be older than the
      retention period, which is shorter for refused requests. A request with an unknown key is recorded
      nowhere.
    </EmptyState>
  );
}

/** Such as the model, and for operators whose request it is. */
export function nameOfRequest(detail: RequestDetail | undefined): string {
  if (detail === undefined) return 'Request';
  const { model, account } = detail.request;
  const name = model ?? 'Request';
  return account === undefined ? name : `${name} for ${account.name}`;
}
