/** Checks the invariants of the ledger. It reads the whole ledger, so it runs only on demand. */
import { useMutation } from '@tanstack/react-query';
import { Scale } from 'lucide-react';
import type { Audit } from '../../../../src/console/operator-contract.ts';
import { post } from '../../../api/client.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Button } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card, Fact, Facts } from '../../../kit/card.tsx';
import { Money, Time } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { EmptyState, FormProblem } from '../../../kit/states.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { operatorPath } from '../operator-query.ts';

type Finding = Audit['findings'][number];

export function AuditCard() {
  const auditing = useMutation({ mutationFn: () => post<Audit>(operatorPath('ledger-audit')) });
  const run = () => auditing.mutate();
  return (
    <>
      <Card
        title="Audit"
        description="Checks every entry, hold and charge against each other, in a single snapshot."
        actions={
          <Button variant="primary" icon={Scale} isBusy={auditing.isPending} onClick={run}>
            Run audit
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
          <EmptyState icon={Scale} title={auditing.isPending ? 'The audit is running …' : 'No audit yet'}>
            It changes nothing and can run at any time. It takes a while on a large ledger.
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
          <Callout tone="good" isUrgent title="The ledger is consistent">
            All {findings.length} rules held at <Time at={at} style="exact" />.
          </Callout>
        ) : (
          <Callout tone="bad" isUrgent title="The ledger is inconsistent">
            {broken} of {findings.length} rules were violated at <Time at={at} style="exact" />. Back up the
            database before you change anything.
          </Callout>
        )}
      </div>
      <Table
        caption="Audit results"
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
function Totals({ totals }: Pick<Audit, 'totals'>) {
  return (
    <Card title="Totals">
      <Facts>
        <Total
          name="Balances of all accounts"
          hint="Credit that has not been spent."
          amount={totals.balance}
        />
        <Total name="Held" hint="For open requests." amount={totals.held} />
        <Total name="Written off" hint="Total losses since the first request." amount={totals.written_off} />
        <Total
          name="Implausible usage"
          hint="Reported by providers beyond what requests can have used. Not charged to anyone."
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
