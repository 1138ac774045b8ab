/** The newest audit, and buttons to start one. It runs in the background, so the operator may leave the page. */
import { Scale, ScanSearch } from 'lucide-react';
import type { Audit, AuditOrder, Audits } from '../../../../src/console/operator-contract.ts';
import { post } from '../../../api/client.ts';
import { signOfMoney } from '../../../kit/amounts.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Button } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card, Fact, Facts } from '../../../kit/card.tsx';
import { Meter, Money, Time } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { EmptyState, FormProblem, Loaded, SkeletonLines } from '../../../kit/states.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { operatorPath, useOperatorMutation, useOperatorQuery } from '../operator-query.ts';

type Finding = Audit['findings'][number];

const runningRefreshMs = 1_000;
const idleRefreshMs = 15_000;

const isRunning = (audits: Audits | undefined) => audits?.data[0]?.state === 'running';

function useAudits() {
  return useOperatorQuery<Audits>(['ledger-audit'], {
    refetchInterval: ({ state }) => (isRunning(state.data) ? runningRefreshMs : idleRefreshMs),
  });
}

export function AuditCard() {
  const audits = useAudits();
  const starting = useOperatorMutation((order: AuditOrder) =>
    post<Audits>(operatorPath('ledger-audit'), order),
  );
  const running = isRunning(audits.data) ? audits.data?.data[0] : undefined;
  const finished = audits.data?.data.find(({ state }) => state !== 'running');
  const isBusy = starting.isPending || running !== undefined;
  return (
    <>
      <Card
        title="Audit"
        description="Checks what is new since the last audit, in a single snapshot. A full audit checks everything."
        actions={
          <>
            <Button icon={ScanSearch} disabled={isBusy} onClick={() => starting.mutate({ is_full: true })}>
              Run full audit
            </Button>
            <Button variant="primary" icon={Scale} disabled={isBusy} onClick={() => starting.mutate({})}>
              Run audit
            </Button>
          </>
        }
        isFlush
      >
        {starting.isError && (
          <div className="p-4 sm:p-5">
            <FormProblem error={starting.error} />
          </div>
        )}
        <Loaded query={audits} errorTitle="The audits could not be loaded" skeleton={<LoadingResult />}>
          {({ data }) => (
            <>
              {running !== undefined && <Progress audit={running} />}
              {finished !== undefined && <Result audit={finished} />}
              {data.length === 0 && (
                <EmptyState icon={Scale} title="No audit yet">
                  An audit changes nothing and can run at any time. On a large ledger, the first one takes a
                  while.
                </EmptyState>
              )}
            </>
          )}
        </Loaded>
      </Card>
      {finished !== undefined && finished.totals !== null && (
        <Totals totals={finished.totals} at={finished.started_at} />
      )}
    </>
  );
}

function LoadingResult() {
  return (
    <div className="py-4">
      <SkeletonLines count={8} />
    </div>
  );
}

function Progress({ audit }: Readonly<{ audit: Audit }>) {
  const { steps_done: done, step_count: count, started_at: startedAt } = audit;
  return (
    <div className="space-y-2 border-b border-line py-4">
      <p>
        {audit.is_full ? 'A full audit' : 'An audit'} is running: {done} of {count} rules were checked. It
        started <Time at={startedAt} style="distance" />.
      </p>
      <Meter label="Progress of the audit" share={done / count} />
    </div>
  );
}

function Result({ audit }: Readonly<{ audit: Audit }>) {
  const { state, findings, is_full: isFull, started_at: startedAt } = audit;
  const broken = findings.filter(({ violations }) => violations > 0).length;
  if (state === 'failed')
    return (
      <div className="border-b border-line py-4">
        <Callout tone="warn" title="The last audit did not finish">
          It started at <Time at={startedAt} style="exact" />. Its gateway stopped, or the database was not
          available. Run it again.
        </Callout>
      </div>
    );
  return (
    <>
      <div className="border-b border-line py-4">
        {state === 'sound' ? (
          <Callout tone="good" isUrgent title="The ledger is consistent">
            All {findings.length} rules held at <Time at={startedAt} style="exact" />,{' '}
            {isFull ? 'for everything' : 'for everything new since the previous audit'}.
          </Callout>
        ) : (
          <Callout tone="bad" isUrgent title="The ledger is inconsistent">
            {broken} of {findings.length} rules were violated at <Time at={startedAt} style="exact" />. Back
            up the database before you change anything.
          </Callout>
        )}
      </div>
      <Table
        caption="Audit results"
        columns={findingColumns}
        rows={findings.toSorted((one, other) => other.violations - one.violations)}
        rowKey={({ invariant }) => invariant}
      />
    </>
  );
}

const findingColumns: readonly Column<Finding>[] = [
  {
    key: 'rule',
    header: 'Rule',
    isBare: true,
    isWrapping: true,
    cell: ({ invariant }) => `${invariant.slice(0, 1).toUpperCase()}${invariant.slice(1)}.`,
  },
  {
    key: 'checked',
    header: 'Checked',
    align: 'right',
    cell: ({ checked }) => formatCount(checked),
  },
  {
    key: 'violations',
    header: 'Violations',
    align: 'right',
    cell: ({ violations }) => (
      <span className={violations > 0 ? 'font-semibold text-bad' : undefined}>{formatCount(violations)}</span>
    ),
  },
  {
    key: 'outcome',
    header: 'Result',
    cell: ({ violations }) => (
      <Badge tone={violations === 0 ? 'good' : 'bad'} hasDot>
        {violations === 0 ? 'Passed' : 'Violated'}
      </Badge>
    ),
  },
];

/** One per line, because amounts with all their digits are long. */
function Totals({ totals, at }: Readonly<{ totals: NonNullable<Audit['totals']>; at: string }>) {
  return (
    <Card
      title="Totals"
      description={
        <>
          As of the audit at <Time at={at} style="exact" />
        </>
      }
    >
      <Facts>
        <Total
          name="Balances of all accounts"
          hint="Credit that has not been spent."
          amount={totals.balance}
        />
        <Total name="Held" hint="For open requests." amount={totals.held} />
        <Total
          name="Written off"
          hint="Total losses since the first request."
          amount={totals.written_off}
          unknownCount={totals.unknown_write_offs}
        />
        <Total
          name="Implausible usage"
          hint="Reported by providers beyond what requests can have used. Not charged to anyone."
          amount={totals.not_believed}
        />
      </Facts>
    </Card>
  );
}

type TotalProps = Readonly<{
  name: string;
  hint: string;
  amount: string;
  /** How many are not part of the amount, because theirs is unknown. */
  unknownCount?: number | undefined;
}>;

function Total({ name, hint, amount, unknownCount = 0 }: TotalProps) {
  const isKnown = unknownCount === 0 || signOfMoney(amount) !== 0;
  return (
    <Fact
      name={
        <>
          <span className="block text-ink">{name}</span>
          <span className="block text-xs">{hint}</span>
        </>
      }
    >
      <span className="font-semibold">
        {isKnown && <Money amount={amount} isExact />}
        {unknownCount > 0 && (
          <span
            title="The provider reported no usage."
            className={isKnown ? 'block text-xs font-normal text-ink-soft' : undefined}
          >
            {isKnown && 'and '}
            {formatCount(unknownCount)} of unknown amount
          </span>
        )}
      </span>
    </Fact>
  );
}
