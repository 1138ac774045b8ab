/** The balance and spend, and how the requests of the last day went. */
import type { Overview } from '../../../src/console/contract.ts';
import { signOfMoney, subtractMoney, sumMoney } from '../../kit/amounts.ts';
import { Dash, Duration, Money } from '../../kit/figures.tsx';
import { formatCount, formatShare } from '../../kit/format-figures.ts';
import { Stat, StatGroup } from '../../kit/stat.tsx';
import { describeSaved, shareOfInput } from '../usage/cache-words.ts';

/**
 * With all digits, as under Billing, so that the balance and the spend add up although a request may cost a fraction of a
 * cent. Undefined while it is being loaded.
 */
export function MoneyFigures({ overview }: Readonly<{ overview: Overview | undefined }>) {
  const free = overview && subtractMoney(overview.balance, overview.held);
  return (
    <StatGroup>
      <Stat
        label="Balance"
        value={overview && <Money amount={overview.balance} isBalance />}
        hint={overview === undefined ? ' ' : <FreeHint overview={overview} />}
        tone={free !== undefined && signOfMoney(free) <= 0 ? 'bad' : 'plain'}
      />
      <Stat
        label="Held"
        value={overview && <Money amount={overview.held} isTotal />}
        hint="For running requests"
      />
      <Stat
        label="Spend, last 30 days"
        value={overview && <Money amount={sumMoney(overview.days.map(({ cost }) => cost))} isTotal />}
        hint={overview === undefined ? ' ' : <TodayHint overview={overview} />}
      />
      <Stat
        label="Charged requests, last 30 days"
        value={overview && formatCount(overview.days.reduce((sum, { requests }) => sum + requests, 0))}
        hint={overview === undefined ? ' ' : `${formatCount(overview.days.at(-1)?.requests ?? 0)} today`}
      />
    </StatGroup>
  );
}

function FreeHint({ overview: { balance, held } }: Readonly<{ overview: Overview }>) {
  if (signOfMoney(held) === 0)
    return signOfMoney(balance) > 0 ? 'All of it is available' : 'Nothing is available';
  return (
    <>
      <Money amount={subtractMoney(balance, held)} isBalance /> available
    </>
  );
}

function TodayHint({ overview }: Readonly<{ overview: Overview }>) {
  return (
    <>
      <Money amount={overview.days.at(-1)?.cost ?? '0'} isTotal /> today
      {overview.caches !== null && <CacheHint caches={overview.caches} />}
    </>
  );
}

function CacheHint({ caches }: Readonly<{ caches: NonNullable<Overview['caches']> }>) {
  const { amount, verb } = describeSaved(caches.saved);
  return (
    <span className="block">
      {formatShare(shareOfInput(caches.read_tokens, caches.input_tokens) ?? 0)} of the input from caches,{' '}
      <Money amount={amount} isTotal /> {verb}
    </span>
  );
}

export function HealthFigures({ recent }: Readonly<{ recent: Overview['recent'] }>) {
  return (
    <section aria-labelledby="health">
      <h2 id="health" className="mb-3 font-semibold">
        {titleOfRecent(recent.requests)}
      </h2>
      <StatGroup>
        <Stat
          label="Success rate"
          value={recent.success_share === null ? <Dash /> : formatShare(recent.success_share)}
          hint={outcomes(recent)}
        />
        <Stat
          label="Median duration"
          value={<Duration ms={recent.latency_ms_p50} />}
          hint="Half of the requests were faster"
        />
        <Stat
          label="95th percentile duration"
          value={<Duration ms={recent.latency_ms_p95} />}
          hint="95% of the requests were faster"
        />
        <Stat
          label="Time to first token"
          value={<Duration ms={recent.time_to_first_token_ms_p50} />}
          hint="Median of streamed requests"
        />
      </StatGroup>
    </section>
  );
}

function outcomes({ requests, failed, cancelled }: Overview['recent']): string {
  if (requests === 0) return 'No requests yet';
  const parts = [`${formatCount(requests)} ${requests === 1 ? 'request' : 'requests'}`];
  if (failed > 0) parts.push(`${formatCount(failed)} failed`);
  if (cancelled > 0) parts.push(`${formatCount(cancelled)} cancelled`);
  return parts.join(', ');
}

/** The gateway counts only the newest requests. At this number there may have been more. */
const maxRecent = 10_000;

export function titleOfRecent(requests: number): string {
  const period = 'Last 24 hours';
  return requests < maxRecent ? period : `${period}: newest ${formatCount(maxRecent)} requests`;
}
