/** The figures at the top: what there is and what was spent, and below how the requests of the last day went. */
import type { Overview } from '../../../src/console/contract.ts';
import { signOfMoney, subtractMoney, sumMoney } from '../../kit/amounts.ts';
import { Duration, Money } from '../../kit/figures.tsx';
import { formatCount, formatShare } from '../../kit/format-figures.ts';
import { Stat, StatGroup } from '../../kit/stat.tsx';

/** Undefined while it is being fetched. */
export function MoneyFigures({ overview }: Readonly<{ overview: Overview | undefined }>) {
  const free = overview && subtractMoney(overview.balance, overview.held);
  return (
    <StatGroup>
      <Stat
        label="Balance"
        value={overview && <Money amount={overview.balance} isBalance />}
        hint={free === undefined ? ' ' : <FreeHint free={free} />}
        tone={free !== undefined && signOfMoney(free) <= 0 ? 'bad' : 'plain'}
      />
      <Stat
        label="Held"
        value={overview && <Money amount={overview.held} />}
        hint="For requests that are running"
      />
      <Stat
        label="Spent in 30 days"
        value={overview && <Money amount={sumMoney(overview.days.map(({ cost }) => cost))} />}
        hint={overview === undefined ? ' ' : <TodayHint overview={overview} />}
      />
      <Stat
        label="Requests in 30 days"
        value={overview && formatCount(overview.days.reduce((sum, { requests }) => sum + requests, 0))}
        hint={overview === undefined ? ' ' : `${formatCount(overview.days.at(-1)?.requests ?? 0)} today`}
      />
    </StatGroup>
  );
}

function FreeHint({ free }: Readonly<{ free: string }>) {
  return (
    <>
      <Money amount={free} isBalance /> free to spend
    </>
  );
}

function TodayHint({ overview }: Readonly<{ overview: Overview }>) {
  return (
    <>
      <Money amount={overview.days.at(-1)?.cost ?? '0'} /> today
    </>
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
          value={recent.success_share === null ? <None /> : formatShare(recent.success_share)}
          hint={outcomes(recent)}
        />
        <Stat
          label="Median latency"
          value={<Duration ms={recent.latency_ms_p50} />}
          hint="Half of all requests are faster"
        />
        <Stat
          label="95 % latency"
          value={<Duration ms={recent.latency_ms_p95} />}
          hint="19 of 20 requests are faster"
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

function None() {
  return <span className="text-ink-faint">–</span>;
}

function outcomes({ requests, failed, cancelled }: Overview['recent']): string {
  if (requests === 0) return 'No requests yet';
  const parts = [`${formatCount(requests)} ${requests === 1 ? 'request' : 'requests'}`];
  if (failed > 0) parts.push(`${formatCount(failed)} failed`);
  if (cancelled > 0) parts.push(`${formatCount(cancelled)} cancelled`);
  return parts.join(', ');
}

/** The gateway counts the newest of the requests only: at so many there may be more that it did not count. */
const mostRecent = 10_000;

export function titleOfRecent(requests: number): string {
  const period = 'The last 24 hours';
  return requests < mostRecent ? period : `${period}: the newest ${formatCount(mostRecent)} requests`;
}
