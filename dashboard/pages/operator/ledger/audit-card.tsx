/** Whether every truth of the ledger holds. It reads everything there is, so it is done when somebody asks. */
import { Scale } from 'lucide-react';
import type { Audit } from '../../../../src/console/operator-contract.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Button } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card, Fact, Facts } from '../../../kit/card.tsx';
import { Money, Time } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { EmptyState, FormProblem } from '../../../kit/states.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { useAudit } from './queries.ts';

type Finding = Audit['findings'][number];

export function AuditCard() {
  const auditing = useAudit();
  const run = () => auditing.mutate();
  return (
    <>
      <Card
        title="Audit"
        description="Checks every entry, hold and charge against each other, in one moment in time."
        actions={
          <Button variant="primary" icon={Scale} isBusy={auditing.isPending} onClick={run}>
            Run the audit
          </Button>
        }
        isFlush
      >
        {auditing.isError && (
          <div className="p-4 sm:p-5">
            <FormProblem error={auditing.error} />
          </div>
        )}
        {auditing.data !== undefined ? (
          <Result audit={auditing.data} />
        ) : (
          <EmptyState
            icon={Scale}
            title={auditing.isPending ? 'The audit is running …' : 'No audit has been run on this page yet'}
          >
            It changes nothing and can run while customers send requests. On a large ledger it takes a while.
          </EmptyState>
        )}
      </Card>
      {auditing.data !== undefined && <Totals totals={auditing.data.totals} />}
    </>
  );
}

function Result({ audit: { at, holds, findings } }: Readonly<{ audit: Audit }>) {
  const broken = findings.filter(({ violations }) => violations > 0).length;
  return (
    <>
      <div className="border-b border-line p-4 sm:px-5">
        {holds ? (
          <Callout tone="good" isUrgent title="The ledger holds">
            All {findings.length} rules were kept at <Time at={at} style="exact" />.
          </Callout>
        ) : (
          <Callout tone="bad" isUrgent title="The ledger does not hold">
            {broken} of {findings.length} rules were broken at <Time at={at} style="exact" />. Keep a copy of
            the database as it is now, before anything else is done to it.
          </Callout>
        )}
      </div>
      <Table
        caption="What was checked"
        columns={findingColumns}
        rows={findings}
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
    header: 'Broken by',
    align: 'right',
    cell: ({ violations }) => (
      <span className={violations > 0 ? 'font-semibold text-bad' : undefined}>{formatCount(violations)}</span>
    ),
  },
  {
    key: 'outcome',
    header: 'Outcome',
    cell: ({ violations }) => (
      <Badge tone={violations === 0 ? 'good' : 'bad'} hasDot>
        {violations === 0 ? 'Kept' : 'Broken'}
      </Badge>
    ),
  },
];

/** Under each other, because amounts with all their digits are too long to stand side by side. */
function Totals({ totals }: Pick<Audit, 'totals'>) {
  return (
    <Card title="Totals">
      <Facts>
        <Total name="Balances of all accounts" hint="Paid in and not used yet." amount={totals.balance} />
        <Total name="Held" hint="For requests that are open." amount={totals.held} />
        <Total name="Written off" hint="Lost for good, since the beginning." amount={totals.written_off} />
        <Total
          name="Not believed"
          hint="Reported by providers beyond what requests can have used, and charged to nobody."
          amount={totals.not_believed}
        />
      </Facts>
    </Card>
  );
}

function Total({ name, hint, amount }: Readonly<{ name: string; hint: string; amount: string }>) {
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
        <Money amount={amount} isExact />
      </span>
    </Fact>
  );
}
