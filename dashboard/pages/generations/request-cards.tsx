/** What stands at the top of a page about one request: its name with its status, and its ID to copy. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { GenerationDetail } from '../../../src/console/contract.ts';
import { Badge, EstimatedMark, StatusBadge } from '../../kit/badge.tsx';
import { LinkButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { CopyButton } from '../../kit/copy-button.tsx';
import { Time } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { describeMoney, explainError } from './explain.ts';

type RequestHeadingProps = Readonly<{ status: GenerationDetail['status'] | undefined; children: ReactNode }>;

export function RequestHeading({ status, children }: RequestHeadingProps) {
  return (
    <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
      {children}
      {status !== undefined && <StatusBadge status={status} />}
    </span>
  );
}

export function RequestIdLine({ id }: Readonly<{ id: string }>) {
  return (
    <span className="inline-flex max-w-full flex-wrap items-center gap-x-1">
      <span className="sr-only">Request ID </span>
      <code className="font-mono text-[0.8125rem] wrap-anywhere">{id}</code>
      <CopyButton text={id} label="Copy the request ID" />
    </span>
  );
}

export function RequestCard({ generation }: Readonly<{ generation: GenerationDetail }>) {
  const { key, usage } = generation;
  return (
    <Card title="Request">
      <Facts>
        <Fact name="Started">
          <Time at={generation.created_at} style="exact" />
        </Fact>
        <Fact name="Ended">
          <Time at={generation.completed_at} style="exact" otherwise="Still running" />
        </Fact>
        <Fact name="Key">
          <Link to="/generations" search={{ key: key.id }} className={textLinkClass}>
            {key.name}
          </Link>{' '}
          <code className="font-mono text-xs text-ink-faint">{key.hint}</code>
        </Fact>
        <Fact name="Provider">
          {generation.provider}
          {generation.fallback && <span className="text-ink-faint"> after another one failed</span>}
        </Fact>
        <Fact name="Answer">{generation.streaming ? 'Streamed' : 'In one piece'}</Fact>
        {usage?.unit === 'images' ? (
          <Fact name="Images">{formatCount(Number(usage.units))}</Fact>
        ) : (
          <>
            <Fact name="Input tokens">{countOrDash(usage?.input_tokens)}</Fact>
            <Fact name="Output tokens">{countOrDash(usage?.output_tokens)}</Fact>
          </>
        )}
      </Facts>
    </Card>
  );
}

function countOrDash(count: number | undefined) {
  return count === undefined ? <span className="text-ink-faint">–</span> : formatCount(count);
}

export function MoneyCard({ generation }: Readonly<{ generation: GenerationDetail }>) {
  const { cost, ledger } = generation;
  const { label, tone, text } = describeMoney(ledger);
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
        <Fact name="Input">
          <AllDigits amount={cost?.input ?? null} />
        </Fact>
        <Fact name="Output">
          <AllDigits amount={cost?.output ?? null} />
        </Fact>
        <Fact name={<span className="font-medium text-ink">Total</span>}>
          <span className="font-semibold">
            <AllDigits amount={cost?.total ?? null} />
          </span>
        </Fact>
      </Facts>
      <p className="mt-3 border-t border-line pt-3 text-ink-soft">{text}</p>
    </Card>
  );
}

/** All twelve digits stand under each other; zeros at the end are pale, so that the amount can be read. */
function AllDigits({ amount }: Readonly<{ amount: string | null }>) {
  if (amount === null) return <span className="text-ink-faint">–</span>;
  const [, digits = amount, zeros = ''] = /^(-?\d+\.\d{2}\d*?)(0*)$/.exec(amount) ?? [];
  return (
    <span className="figures">
      ${digits}
      <span className="text-ink-faint">{zeros}</span>
    </span>
  );
}

/** How a request ended, where that needs words. */
export function Outcome({ generation }: Readonly<{ generation: GenerationDetail }>) {
  const { status, error } = generation;
  if (error !== null) {
    const { what, todo } = explainError(error.code, error.message);
    return (
      <Callout
        tone="bad"
        title={what}
        {...(error.code === 'insufficient_balance'
          ? {
              actions: (
                <LinkButton to="/billing" size="small">
                  See billing
                </LinkButton>
              ),
            }
          : {})}
      >
        <p>{todo}</p>
        <p className="mt-1 text-xs">
          Code <code className="font-mono">{error.code}</code>
        </p>
      </Callout>
    );
  }
  if (status === 'cancelled') {
    return (
      <Callout title="The client ended the connection before the answer was complete.">
        The provider goes on with the answer, and the whole of it may be charged.
      </Callout>
    );
  }
  return null;
}
