import { useParams } from '@tanstack/react-router';
import { ChevronRight, SearchX } from 'lucide-react';
import type { ReactNode } from 'react';
import type { GenerationDetail } from '../../../src/console/contract.ts';
import { ApiProblem } from '../../api/client.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { CodeBlock } from '../../kit/code-block.tsx';
import { Duration, Money } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Page } from '../../kit/page.tsx';
import { Stat, StatGroup } from '../../kit/stat.tsx';
import { EmptyState, ErrorState, SkeletonLines } from '../../kit/states.tsx';
import { Attempts } from './attempts.tsx';
import { useGeneration } from './queries.ts';
import { MoneyCard, Outcome, RequestCard, RequestHeading, RequestIdLine } from './request-cards.tsx';

export function GenerationPage() {
  const { id = '' } = useParams({ strict: false });
  const query = useGeneration(id);
  const generation = query.data;
  if (generation === undefined && query.isError) {
    const isMissing = query.error instanceof ApiProblem && query.error.status === 404;
    return (
      <Frame id={id} generation={undefined}>
        <Card>{isMissing ? <Missing /> : <ErrorState error={query.error} onRetry={query.refetch} />}</Card>
      </Frame>
    );
  }
  return (
    <Frame id={id} generation={generation}>
      <Figures generation={generation} />
      {generation === undefined ? (
        <Card>
          <SkeletonLines count={8} />
        </Card>
      ) : (
        <>
          <Outcome generation={generation} />
          <div className="grid gap-6 lg:grid-cols-2">
            <MoneyCard generation={generation} />
            <RequestCard generation={generation} />
          </div>
          <Attempts generation={generation} />
          <RawJson generation={generation} />
        </>
      )}
    </Frame>
  );
}

type FrameProps = Readonly<{ id: string; generation: GenerationDetail | undefined; children: ReactNode }>;

function Frame({ id, generation, children }: FrameProps) {
  return (
    <Page
      title={generation === undefined ? 'Generation' : `Generation of ${generation.model}`}
      heading={
        <RequestHeading status={generation?.status}>{generation?.model ?? 'Generation'}</RequestHeading>
      }
      description={<RequestIdLine id={id} />}
      back={{ to: '/generations', label: 'Generations' }}
    >
      {children}
    </Page>
  );
}

function Figures({ generation }: Readonly<{ generation: GenerationDetail | undefined }>) {
  const isRunning = generation?.status === 'in_progress';
  const { tokens_per_second: speed } = generation ?? {};
  return (
    <StatGroup>
      <Stat label="Cost" value={generation && <Money amount={generation.cost?.total ?? null} />} />
      <Stat
        label={isRunning ? 'Running for' : 'Latency'}
        value={generation && <Duration ms={generation.latency_ms} />}
      />
      <Stat
        label="Time to first token"
        value={generation && <Duration ms={generation.time_to_first_token_ms} />}
      />
      <Stat
        label="Speed"
        value={
          generation &&
          (typeof speed === 'number' ? (
            `${formatCount(Math.round(speed))} tokens/s`
          ) : (
            <span className="text-ink-faint">–</span>
          ))
        }
      />
    </StatGroup>
  );
}

function RawJson({ generation }: Readonly<{ generation: GenerationDetail }>) {
  return (
    <details className="group rounded-lg border border-line bg-surface shadow-card">
      <summary className="flex items-center gap-2 rounded-lg px-4 py-3 font-semibold select-none sm:px-5">
        <ChevronRight
          aria-hidden
          className="size-4 text-ink-faint transition-transform group-open:rotate-90"
        />
        Raw JSON
      </summary>
      <div className="border-t border-line p-4 sm:p-5">
        <CodeBlock
          label="the Generation as JSON"
          samples={[{ label: 'JSON', code: JSON.stringify(generation, null, 2) }]}
        />
      </div>
    </details>
  );
}

function Missing() {
  return (
    <EmptyState
      icon={SearchX}
      title="No such request in this account"
      action={<LinkButton to="/generations">All Generations</LinkButton>}
    >
      Check the ID. It may belong to another account, be older than what is kept here, or be of a request that
      was refused before it reached a model: those leave no Generation and cost nothing.
    </EmptyState>
  );
}
