/** Any request of any account, for an operator who has to answer for it. */
import { Link, useParams } from '@tanstack/react-router';
import { SearchX } from 'lucide-react';
import type { ReactNode } from 'react';
import type { OperatorGeneration } from '../../../../src/console/operator-contract.ts';
import { ApiProblem } from '../../../api/client.ts';
import { formatMoneyExactly } from '../../../kit/amounts.ts';
import { LinkButton } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card, Fact, Facts } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { CodeBlock } from '../../../kit/code-block.tsx';
import { Duration, Time } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { Page } from '../../../kit/page.tsx';
import { EmptyState, ErrorState, SkeletonLines } from '../../../kit/states.tsx';
import { Attempts } from '../../generations/attempts.tsx';
import { MoneyCard, RequestHeading, RequestIdLine } from '../../generations/request-cards.tsx';
import { useOperatorQuery } from '../operator-query.ts';

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

/** Whose request it is, and what it was. */
export function OwnerCard({ generation }: Readonly<{ generation: OperatorGeneration }>) {
  const { account, key, usage } = generation;
  return (
    <Card title="Request">
      <Facts>
        <Fact name="Account">
          <Link to="/operator/accounts" search={{ search: account.id }} className={textLinkClass}>
            {account.name}
          </Link>
        </Fact>
        <Fact name="Key">
          {key.name} <code className="font-mono text-xs text-ink-faint">{key.hint}</code>
        </Fact>
        <Fact name="Started">
          <Time at={generation.created_at} style="exact" />
        </Fact>
        <Fact name="Ended">
          <Time at={generation.completed_at} style="exact" otherwise="Still running" />
        </Fact>
        <Fact name="Latency">
          <Duration ms={generation.latency_ms} />
        </Fact>
        <Fact name="Time to first token">
          <Duration ms={generation.time_to_first_token_ms} />
        </Fact>
        <Fact name="Answer">{generation.streaming ? 'Streamed' : 'In one piece'}</Fact>
        {usage === null ? (
          <Fact name="Usage">
            <span className="text-ink-faint">–</span>
          </Fact>
        ) : usage.unit === 'images' ? (
          <Fact name="Images">{formatCount(Number(usage.units))}</Fact>
        ) : (
          <Fact name="Tokens">
            {formatCount(usage.input_tokens)} in, {formatCount(usage.output_tokens)} out
          </Fact>
        )}
      </Facts>
    </Card>
  );
}

/** Says what was not believed of a provider's report, and what it would have cost. */
export function ReportedNote({ generation }: Readonly<{ generation: OperatorGeneration }>) {
  const sentences = describeReported(generation);
  if (sentences.length === 0) return null;
  const unpaid = generation.ledger?.write_off_reason === 'implausible_usage' && generation.ledger.written_off;
  return (
    <Callout tone="warn" title="What the provider reported cannot be right">
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <p>
        {unpaid ? `The difference, ${formatMoneyExactly(unpaid)}, was charged to nobody. ` : ''}
        The customer does not see this. Clear it up with the provider.
      </p>
    </Callout>
  );
}

/** What a provider said that it used, where that was beyond what the request can have used. */
/** In sentences, for the operator who has to clear it up; none when the provider was believed. */
export function describeReported({
  usage,
  reported_usage: reported,
}: Pick<OperatorGeneration, 'usage' | 'reported_usage'>): string[] {
  if (reported === null) return [];
  const { input_tokens: input, output_tokens: output } = reported;
  if (usage === null || usage.unit !== 'tokens')
    return [`The provider reported ${formatCount(input)} input and ${formatCount(output)} output tokens.`];
  const sentences: string[] = [];
  if (input > usage.input_tokens)
    sentences.push(
      `The provider reported ${formatCount(input)} input tokens; the request cannot have more than ${formatCount(usage.input_tokens)}. Charged for ${formatCount(usage.input_tokens)}.`,
    );
  if (output > usage.output_tokens)
    sentences.push(
      `The provider reported ${formatCount(output)} output tokens; at most ${formatCount(usage.output_tokens)} were asked for. Charged for ${formatCount(usage.output_tokens)}.`,
    );
  if (output === 0) sentences.push('The provider reported no output tokens, but delivered text.');
  return sentences;
}

const liveEveryMs = 2_000;

/** Followed until it has ended. */
export function useAnyGeneration(id: string) {
  return useOperatorQuery<OperatorGeneration>(['generations', id], {
    refetchInterval: ({ state }) => (state.data?.status === 'in_progress' ? liveEveryMs : false),
  });
}
