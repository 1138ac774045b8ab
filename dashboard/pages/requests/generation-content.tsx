/** A request that became a Generation, in detail: the same in the panel and on its page, for its account and for operators. */
import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import type { GenerationDetail } from '../../../src/console/contract.ts';
import type { RequestDetail } from '../../../src/console/request-contract.ts';
import { Badge, EstimatedMark } from '../../kit/badge.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { classNames, textLinkClass } from '../../kit/class-names.ts';
import { CodeBlock } from '../../kit/code-block.tsx';
import { Dash, Duration, Money, Time } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Stat } from '../../kit/stat.tsx';
import { accountLink, keyLink, modelLink, providerLink } from '../../links.ts';
import { DrawList } from '../grants/draws.tsx';
import { Attempts } from './attempts.tsx';
import { AttributionFacts } from './attribution.tsx';
import { breakDownCost } from './cost-lines.ts';
import { AllDigits, CostLines } from './cost-lines-view.tsx';
import { describeMoney } from './explain.ts';
import { labelOfApi } from './filters.ts';
import { useScope } from './scope.ts';

export type GenerationRequest = Extract<RequestDetail, { kind: 'generation' }>['request'];

type GenerationContentProps = Readonly<{
  generation: GenerationRequest;
  /** Above the details, such as why the request failed. */
  notes: ReactNode;
}>;

export function GenerationContent({ generation, notes }: GenerationContentProps) {
  return (
    <div className="@container space-y-6">
      {notes}
      <Figures generation={generation} />
      <div className="grid gap-6 @3xl:grid-cols-2">
        <MoneyCard generation={generation} />
        <RequestCard generation={generation} />
      </div>
      <Attempts generation={generation} />
      <RawJson label="Generation as JSON" value={generation} />
    </div>
  );
}

/** Undefined while it is being loaded. */
export function Figures({ generation }: Readonly<{ generation: GenerationDetail | undefined }>) {
  const isRunning = generation?.status === 'in_progress';
  const speed = generation && speedOf(generation);
  // A response that arrives at once has no first token.
  const isStreamed = generation?.streaming !== false;
  return (
    <dl
      className={classNames(
        '-mx-4 grid grid-cols-2 gap-px overflow-clip border-y border-line md:[clip-path:inset(0_1rem)]',
        isStreamed && '@xl:grid-cols-4',
      )}
    >
      <Stat label="Cost" value={generation && <Money amount={generation.cost?.total ?? null} />} />
      <Stat
        label={isRunning ? 'Running for' : 'Duration'}
        value={generation && <Duration ms={generation.latency_ms} />}
      />
      {isStreamed && (
        <>
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
        </>
      )}
    </dl>
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

function RequestCard({ generation }: Readonly<{ generation: GenerationRequest }>) {
  const { usage, api, finish_reason: finishReason } = generation;
  return (
    <Card title="Request">
      <Facts>
        <WhoseFacts request={generation} />
        {api !== null && <Fact name="API">{labelOfApi(api)}</Fact>}
        {generation.attribution !== undefined && (
          <AttributionFacts attribution={generation.attribution} account={generation.account} />
        )}
        <Fact name="Started">
          <Time at={generation.created_at} style="exact" />
        </Fact>
        <Fact name="Ended">
          <Time at={generation.completed_at} style="exact" otherwise="Still running" />
        </Fact>
        <ProviderFact generation={generation} />
        <Fact name="Streaming">{generation.streaming ? 'Yes' : 'No'}</Fact>
        {finishReason !== null && (
          <Fact name="Finish reason">
            <code className="font-mono text-[0.8125rem]">{finishReason}</code>
          </Fact>
        )}
        {usage?.unit === 'images' ? (
          <Fact name="Images">{formatCount(Number(usage.units))}</Fact>
        ) : (
          usage !== null && (
            <>
              <Fact name="Input tokens">{formatCount(usage.input_tokens)}</Fact>
              <Fact name="Output tokens">{formatCount(usage.output_tokens)}</Fact>
            </>
          )
        )}
      </Facts>
    </Card>
  );
}

type Owned = Readonly<{
  account?: { id: string; name: string };
  key: { id: string; name: string; hint: string };
  model: string | null;
}>;

/** The account, the key and the model of a request, each leading to its own page. */
export function WhoseFacts({ request: { account, key, model } }: Readonly<{ request: Owned }>) {
  return (
    <>
      {account !== undefined && (
        <Fact name="Account">
          <Link {...accountLink(account.id)} className={textLinkClass}>
            {account.name}
          </Link>
        </Fact>
      )}
      <Fact name="Key">
        <Link {...keyLink(key.id, account?.id)} className={textLinkClass}>
          {key.name}
        </Link>{' '}
        <code className="font-mono text-xs text-ink-faint">{key.hint}</code>
      </Fact>
      <Fact name="Model">
        {model === null ? (
          <Dash />
        ) : (
          <Link {...modelLink(model, account?.id)} className={textLinkClass}>
            {model}
          </Link>
        )}
      </Fact>
    </>
  );
}

function ProviderFact({ generation }: Readonly<{ generation: GenerationRequest }>) {
  const { reader } = useScope();
  const { provider, fallback, status, attempts } = generation;
  // No provider served a request that failed.
  const isFailed = status === 'failed' && attempts.length > 0;
  return (
    <Fact name={isFailed ? 'Last provider tried' : 'Provider'}>
      <Link {...providerLink(provider, reader)} className={textLinkClass}>
        {provider}
      </Link>
      {fallback && !isFailed && <span className="text-ink-faint"> (fallback)</span>}
    </Fact>
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
      {cost !== null && (
        <div className="mb-3 border-b border-line pb-3">
          <Facts>
            <CostLines breakdown={breakdown} />
            <Fact name={<span className="font-medium text-ink">Total</span>}>
              <span className="font-semibold">
                <AllDigits amount={cost.total} />
              </span>
            </Fact>
          </Facts>
        </div>
      )}
      <div className="space-y-2 text-ink-soft">
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

export function RawJson({ label, value }: Readonly<{ label: string; value: unknown }>) {
  return (
    <details className="group border-y border-line">
      <summary className="flex items-center gap-2 rounded py-2.5 font-semibold select-none">
        <ChevronRight
          aria-hidden
          className="size-4 text-ink-faint transition-transform group-open:rotate-90"
        />
        Raw JSON
      </summary>
      <div className="pb-4">
        <CodeBlock label={label} samples={[{ label: 'JSON', code: JSON.stringify(value, null, 2) }]} />
      </div>
    </details>
  );
}
