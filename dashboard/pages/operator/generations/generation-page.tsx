/** Any request of any account, for an operator who has to answer for it. */

import { useParams } from '@tanstack/react-router';
import { SearchX } from 'lucide-react';
import type { ReactNode } from 'react';
import type { OperatorGeneration } from '../../../../src/console/operator-contract.ts';
import { ApiProblem } from '../../../api/problem.ts';
import { LinkButton } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';
import { CodeBlock } from '../../../kit/code-block.tsx';
import { EmptyState } from '../../../kit/empty-state.tsx';
import { ErrorState } from '../../../kit/error-state.tsx';
import { Page } from '../../../kit/page.tsx';
import { SkeletonLines } from '../../../kit/skeleton.tsx';
import { Attempts } from '../../generations/attempts.tsx';
import { MoneyCard } from '../../generations/money-card.tsx';
import { RequestHeading, RequestIdLine } from '../../generations/request-heading.tsx';
import { OwnerCard } from './owner-card.tsx';
import { useAnyGeneration } from './queries.ts';
import { ReportedNote } from './reported-note.tsx';

export function OperatorGenerationPage() {
  const { id = '' } = useParams({ strict: false });
  const query = useAnyGeneration(id);
  const generation = query.data;
  return (
    <Frame id={id} generation={generation}>
      {generation !== undefined ? (
        <Details generation={generation} />
      ) : (
        <Card>
          {!query.isError ? (
            <SkeletonLines count={12} />
          ) : query.error instanceof ApiProblem && query.error.status === 404 ? (
            <Missing />
          ) : (
            <ErrorState error={query.error} onRetry={query.refetch} />
          )}
        </Card>
      )}
    </Frame>
  );
}

type FrameProps = Readonly<{ id: string; generation: OperatorGeneration | undefined; children: ReactNode }>;

function Frame({ id, generation, children }: FrameProps) {
  return (
    <Page
      title={generation === undefined ? 'Request' : `Request of ${generation.account.name}`}
      heading={
        <RequestHeading status={generation?.status}>
          {generation === undefined ? 'Request' : `${generation.model} for ${generation.account.name}`}
        </RequestHeading>
      }
      description={<RequestIdLine id={id} />}
      back={{ to: '/operator/providers', label: 'Providers' }}
    >
      {children}
    </Page>
  );
}

function Details({ generation }: Readonly<{ generation: OperatorGeneration }>) {
  return (
    <>
      {generation.error !== null && (
        <Callout tone="bad" title={generation.error.message}>
          The customer was told this, with the code{' '}
          <code className="font-mono text-ink">{generation.error.code}</code>. What each provider answered
          stands below.
        </Callout>
      )}
      <ReportedNote generation={generation} />
      <div className="grid gap-6 lg:grid-cols-2">
        <OwnerCard generation={generation} />
        <MoneyCard generation={generation} />
      </div>
      <Attempts generation={generation} />
      <CodeBlock
        label="the request as JSON"
        samples={[{ label: 'JSON', code: JSON.stringify(generation, null, 2) }]}
        height="max-h-80"
      />
    </>
  );
}

function Missing() {
  return (
    <EmptyState
      icon={SearchX}
      title="No account has this request"
      action={<LinkButton to="/operator/providers">To the providers</LinkButton>}
    >
      Check the ID. The request may be older than what is kept here, or was refused before it reached a model:
      those leave no Generation and cost nothing. The log of the gateway has them.
    </EmptyState>
  );
}
