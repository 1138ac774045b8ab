/** One request in detail, as both the account that sent it and operators see it. */
import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ChevronRight, SearchX } from 'lucide-react';
import type { ComponentProps, ReactNode } from 'react';
import type { GenerationDetail } from '../../../src/console/contract.ts';
import { ApiProblem } from '../../api/client.ts';
import { Badge, EstimatedMark, StatusBadge } from '../../kit/badge.tsx';
import { LinkButton } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { CodeBlock } from '../../kit/code-block.tsx';
import { RequestId } from '../../kit/copy-button.tsx';
import { Dash, Duration, Money, Time } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Page } from '../../kit/page.tsx';
import { Stat, StatGroup } from '../../kit/stat.tsx';
import { EmptyState, ErrorState, SkeletonLines } from '../../kit/states.tsx';
import { DrawList } from '../grants/draws.tsx';
import { Attempts } from './attempts.tsx';
import { AttributionFacts } from './attribution.tsx';
import { breakDownCost } from './cost-lines.ts';
import { AllDigits, CostLines } from './cost-lines-view.tsx';
import { describeMoney } from './explain.ts';

type Account = Readonly<{ id: string; name: string }>;

type GenerationViewProps<Detail> = Readonly<{
  id: string;
  query: UseQueryResult<Detail>;
  /** Such as the model. */
  nameOf: (generation: Detail) => string;
  back: NonNullable<ComponentProps<typeof Page>['back']>;
  missing: Readonly<{ title: string; text: string }>;
  /** Next to the title. */
  actionsOf?: (generation: Detail) => ReactNode;
  /** Above the details, such as why the request failed. */
  notesOf: (generation: Detail) => ReactNode;
}>;

export function GenerationView<Detail extends GenerationDetail & { account?: Account }>(
  props: GenerationViewProps<Detail>,
) {
  const { id, query, nameOf, back, missing, actionsOf, notesOf } = props;
  const generation = query.data;
  const name = generation === undefined ? 'Generation' : nameOf(generation);
  return (
    <Page
      title={name}
      heading={
        <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
          {name}
          {generation !== undefined && <StatusBadge status={generation.status} />}
        </span>
      }
      description={
        <>
          <span className="sr-only">Request ID </span>
          <RequestId id={id} className="text-[0.8125rem]" />
        </>
      }
      back={back}
      actions={generation && actionsOf?.(generation)}
    >
      {generation !== undefined ? (
        <>
          <Figures generation={generation} />
          {notesOf(generation)}
          <div className="grid gap-6 lg:grid-cols-2">
            <MoneyCard generation={generation} />
            <RequestCard generation={generation} account={generation.account} />
          </div>
          <Attempts generation={generation} />
          <RawJson generation={generation} />
        </>
      ) : !query.isError ? (
        <>
          <Figures generation={undefined} />
          <Card>
            <SkeletonLines count={8} />
          </Card>
        </>
      ) : (
        <Card>
          {query.error instanceof ApiProblem && query.error.status === 404 ? (
            <EmptyState
              icon={SearchX}
              title={missing.title}
              action={<LinkButton to={back.to}>{`Go to ${back.label}`}</LinkButton>}
            >
              {missing.text}
            </EmptyState>
          ) : (
            <ErrorState error={query.error} onRetry={query.refetch} />
          )}
        </Card>
      )}
    </Page>
  );
}

/** Undefined while it is being loaded. */
function Figures({ generation }: Readonly<{ generation: GenerationDetail | undefined }>) {
  const isRunning = generation?.status === 'in_progress';
  const speed = generation && speedOf(generation);
  return (
    <StatGroup>
      <Stat label="Cost" value={generation && <Money amount={generation.cost?.total ?? null} />} />
      <Stat
        label={isRunning ? 'Running for' : 'Duration'}
        value={generation && <Duration ms={generation.latency_ms} />}
      />
      <Stat
        label="Time to first token"
        value={generation && <Duration ms={generation.time_to_first_token_ms} />}
      />
      <Stat
        label="Speed"
        value={
          speed === undefined ? undefined : speed === null ? (
            <Dash />
          ) : (
            `${formatCount(Math.round(speed))} tokens/s`
          )
        }
      />
    </StatGroup>
  );
}

/** A few tokens, or a response that arrives at once, say nothing about how fast tokens are generated. */
const minTokensForSpeed = 20;

export function speedOf({
  streaming,
  usage,
  tokens_per_second: speed,
}: Pick<GenerationDetail, 'streaming' | 'usage' | 'tokens_per_second'>): number | null {
  if (!streaming || usage === null || usage.unit !== 'tokens') return null;
  return usage.output_tokens < minTokensForSpeed ? null : speed;
}

type RequestCardProps = Readonly<{
  generation: GenerationDetail;
  /** For operators, who see the requests of every account. */
  account: Account | undefined;
}>;

function RequestCard({ generation, account }: RequestCardProps) {
  const { key, usage } = generation;
  // No provider served a request that failed.
  const isFailed = generation.status === 'failed' && generation.attempts.length > 0;
  return (
    <Card title="Request">
      <Facts>
        {account !== undefined && (
          <Fact name="Account">
            <Link to="/operator/accounts/$id" params={{ id: account.id }} className={textLinkClass}>
              {account.name}
            </Link>
          </Fact>
        )}
        <Fact name="Key">
          {account === undefined ? (
            <Link to="/generations" search={{ key: key.id }} className={textLinkClass}>
              {key.name}
            </Link>
          ) : (
            key.name
          )}{' '}
          <code className="font-mono text-xs text-ink-faint">{key.hint}</code>
        </Fact>
        {generation.attribution !== undefined && (
          <AttributionFacts
            attribution={generation.attribution}
            list={account === undefined ? '/generations' : '/operator/generations'}
          />
        )}
        <Fact name="Started">
          <Time at={generation.created_at} style="exact" />
        </Fact>
        <Fact name="Ended">
          <Time at={generation.completed_at} style="exact" otherwise="Still running" />
        </Fact>
        <Fact name={isFailed ? 'Last provider tried' : 'Provider'}>
          {generation.provider}
          {generation.fallback && !isFailed && <span className="text-ink-faint"> (fallback)</span>}
        </Fact>
        <Fact name="Streaming">{generation.streaming ? 'Yes' : 'No'}</Fact>
        {usage?.unit === 'images' ? (
          <Fact name="Images">{formatCount(Number(usage.units))}</Fact>
        ) : (
          <>
            <Fact name="Input tokens">{usage === null ? <Dash /> : formatCount(usage.input_tokens)}</Fact>
            <Fact name="Output tokens">{usage === null ? <Dash /> : formatCount(usage.output_tokens)}</Fact>
          </>
        )}
      </Facts>
    </Card>
  );
}

function MoneyCard({ generation }: Readonly<{ generation: GenerationDetail }>) {
  const { cost, ledger, draws } = generation;
  const { label, tone, text } = describeMoney(ledger);
  const breakdown = breakDownCost(generation);
  return (
    <Card
      title="Cost"
      actions={
        <>
          {ledger?.is_estimated === true && <EstimatedMark />}
          <Badge tone={tone}>{label}</Badge>
        </>
      }
    >
      <Facts>
        <CostLines breakdown={breakdown} />
        <Fact name={<span className="font-medium text-ink">Total</span>}>
          <span className="font-semibold">
            <AllDigits amount={cost?.total ?? null} />
          </span>
        </Fact>
      </Facts>
      <div className="mt-3 space-y-2 border-t border-line pt-3 text-ink-soft">
        <p>{text}</p>
        {draws.length > 0 && (
          <div>
            <p>Drawn from grants:</p>
            <DrawList draws={draws} className="text-[0.8125rem]" />
          </div>
        )}
        {breakdown?.isCut === true && (
          <p>
            Each line is what was paid of it, as far as the balance went:{' '}
            {breakdown.inputParts.length > 0
              ? 'for caches first, then for fresh input, then for output.'
              : 'for input first, then for output.'}
          </p>
        )}
      </div>
    </Card>
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
          label="Generation as JSON"
          samples={[{ label: 'JSON', code: JSON.stringify(generation, null, 2) }]}
        />
      </div>
    </details>
  );
}
