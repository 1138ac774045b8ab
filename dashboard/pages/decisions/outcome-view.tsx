/** What became of a decision: the answers, how they were had, the JSON; or what went wrong and what to do. */
import { useEffect, useState } from 'react';
import type { DecisionBody } from '../../../src/console/contract.ts';
import { Callout } from '../../kit/callout.tsx';
import { Fact, Facts } from '../../kit/card.tsx';
import { CodeBlock } from '../../kit/code-block.tsx';
import { CopyButton } from '../../kit/copy-button.tsx';
import { Duration } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Tabs } from '../../kit/tabs.tsx';
import { AnswerView } from './answer-view.tsx';
import { adviceForFailure, type DecisionFailure, secondsLeft } from './run-decision.ts';

export function DecisionResult({ body }: Readonly<{ body: DecisionBody }>) {
  return (
    <Tabs
      label="The decision"
      tabs={[
        { value: 'answers', label: 'Answers', content: <Answers body={body} /> },
        { value: 'details', label: 'Details', content: <Details body={body} /> },
        {
          value: 'json',
          label: 'JSON',
          content: (
            <CodeBlock
              label="the answer as JSON"
              samples={[{ label: 'JSON', code: JSON.stringify(body, null, 2) }]}
            />
          ),
        },
      ]}
    />
  );
}

function Answers({ body }: Readonly<{ body: DecisionBody }>) {
  return (
    <div className="space-y-6">
      {Object.entries(body.answers).map(([name, answer]) => (
        <AnswerView key={name} name={name} answer={answer} />
      ))}
    </div>
  );
}

function Details({ body: { model, usage, charge, service } }: Readonly<{ body: DecisionBody }>) {
  return (
    <Facts>
      <Fact name="Model that answered">
        <code className="font-mono text-[0.8125rem]">{model}</code>
      </Fact>
      <Fact name="Provider">{service.provider}</Fact>
      <Fact name="Time">
        <Duration ms={service.latency_ms} />
      </Fact>
      <Fact name="Status from the provider">{service.upstream_status}</Fact>
      {service.upstream_request_id !== undefined && (
        <Fact name="Request ID of the provider">
          <code className="font-mono text-xs">{service.upstream_request_id}</code>
        </Fact>
      )}
      <Fact name="Request ID">
        <RequestId id={service.request_id} />
      </Fact>
      <Fact name="Tokens in">{formatCount(usage.input_tokens)}</Fact>
      <Fact name="Tokens out">{formatCount(usage.output_tokens)}</Fact>
      {charge !== undefined && (
        <Fact name="Charge named by the provider">{`$${charge.amount} ${charge.currency}`}</Fact>
      )}
    </Facts>
  );
}

function RequestId({ id }: Readonly<{ id: string }>) {
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <code className="font-mono text-xs wrap-anywhere">{id}</code>
      <CopyButton text={id} label="Copy the request ID" />
    </span>
  );
}

type DecisionFailureViewProps = Readonly<{ failure: DecisionFailure; failedAt: number }>;

export function DecisionFailureView({ failure, failedAt }: DecisionFailureViewProps) {
  const wait = useSecondsLeft(failedAt, failure.retry_after_seconds);
  return (
    <Callout tone={failure.type === 'not_configured' ? 'warn' : 'bad'} title={failure.message} isUrgent>
      <p>{adviceForFailure(failure.type, failure.status)}</p>
      {failure.type === 'rate_limit' && (
        <p className="figures mt-1 font-medium text-ink">
          {wait === null
            ? 'Wait a moment before the next run.'
            : wait > 0
              ? `You can run again in ${wait} s.`
              : 'You can run again now.'}
        </p>
      )}
      <p className="mt-2 flex flex-wrap gap-x-3 text-xs text-ink-faint">
        <code className="font-mono">{failure.type}</code>
        {failure.provider !== undefined && <span>{failure.provider}</span>}
        {failure.upstream_status !== undefined && <span>Status {failure.upstream_status}</span>}
      </p>
      {failure.request_id !== undefined && (
        <div className="text-ink-faint">
          <RequestId id={failure.request_id} />
        </div>
      )}
    </Callout>
  );
}

/** Counts down to when the next run may begin; null where nothing was said of it. */
export function useSecondsLeft(failedAt: number, retryAfterSeconds: number | undefined): number | null {
  const [now, setNow] = useState(() => Date.now());
  const left = retryAfterSeconds === undefined ? null : secondsLeft(failedAt, retryAfterSeconds, now);
  const isWaiting = left !== null && left > 0;
  useEffect(() => {
    if (!isWaiting) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [isWaiting]);
  return left;
}
