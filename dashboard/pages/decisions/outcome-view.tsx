/** The outcome of a decision: its answers, details and JSON, or what went wrong and what to do about it. */
import { useEffect, useState } from 'react';
import type { DecisionBody } from '../../../src/console/contract.ts';
import { Callout } from '../../kit/callout.tsx';
import { Fact, Facts } from '../../kit/card.tsx';
import { CodeBlock } from '../../kit/code-block.tsx';
import { RequestId } from '../../kit/copy-button.tsx';
import { Duration } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Tabs } from '../../kit/tabs.tsx';
import { AnswerView } from './answer-view.tsx';
import { adviceForFailure, type DecisionFailure, secondsLeft } from './run-decision.ts';

export function DecisionResult({ body }: Readonly<{ body: DecisionBody }>) {
  return (
    <Tabs
      label="Decision"
      tabs={[
        { label: 'Answers', content: <Answers body={body} /> },
        { label: 'Details', content: <Details body={body} /> },
        {
          label: 'JSON',
          content: (
            <CodeBlock
              label="Response as JSON"
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
      <Fact name="Model">
        <code className="font-mono text-[0.8125rem]">{model}</code>
      </Fact>
      <Fact name="Provider">{service.provider}</Fact>
      <Fact name="Duration">
        <Duration ms={service.latency_ms} />
      </Fact>
      <Fact name="Provider status">{service.upstream_status}</Fact>
      {service.upstream_request_id !== undefined && (
        <Fact name="Provider request ID">
          <code className="font-mono text-xs">{service.upstream_request_id}</code>
        </Fact>
      )}
      <Fact name="Request ID">
        <RequestId id={service.request_id} />
      </Fact>
      <Fact name="Input tokens">{formatCount(usage.input_tokens)}</Fact>
      <Fact name="Output tokens">{formatCount(usage.output_tokens)}</Fact>
      {charge !== undefined && <Fact name="Provider charge">{`$${charge.amount} ${charge.currency}`}</Fact>}
    </Facts>
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
            ? 'Wait a moment before you run it again.'
            : wait > 0
              ? `You can run it again in ${wait} s.`
              : 'You can run it again now.'}
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

/** Counts down to when the next run is allowed; null if the provider did not say. */
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
