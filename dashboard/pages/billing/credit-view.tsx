/** Where credit comes from: payments, codes and grants, and at what balance someone is warned. */
import type { Payment } from '../../../src/console/contract.ts';
import type { Allowance, Grants } from '../../../src/console/grant-contract.ts';
import { useAccount } from '../../api/session.ts';
import { Card } from '../../kit/card.tsx';
import { QueryTable, useAddressCursors } from '../../kit/query-table.tsx';
import { Loaded } from '../../kit/states.tsx';
import { CategoryFigures } from '../grants/category-figures.tsx';
import { AllowancesCard, GrantsCard } from '../grants/grants-card.tsx';
import { useGrants } from '../grants/queries.ts';
import { AddCredit } from './add-credit.tsx';
import { AutomaticTopUpCard } from './automatic-top-up.tsx';
import { LowBalanceCard } from './low-balance-card.tsx';
import { paymentColumns } from './payment-columns.tsx';
import { usePaymentOptions, usePayments } from './payment-queries.ts';

export function CreditView() {
  const options = usePaymentOptions();
  const { id, role } = useAccount();
  const grantCursors = useAddressCursors('grants-');
  const grants = useGrants({ accountId: id, isOperator: false }, grantCursors.cursor);
  // Null for an account that has only had plain credits, of which there is no more to say.
  const balances = grants.data?.balances ?? null;
  return (
    <>
      {balances !== null && <CategoryFigures balances={balances} />}
      <Loaded query={options} errorTitle="The ways to add credit could not be loaded">
        {(data) => (
          <div className="grid items-start gap-x-8 gap-y-6 lg:grid-cols-2">
            <AddCredit options={data} />
            <div className="grid gap-6">
              {data.is_online && role === 'owner' && <AutomaticTopUpCard options={data} />}
              <LowBalanceCard />
            </div>
          </div>
        )}
      </Loaded>
      <Payments />
      {balances !== null && <GrantsCard query={grants} cursors={grantCursors} />}
      <AllowancesCard allowances={currentAllowances(grants.data)} />
    </>
  );
}

function currentAllowances(grants: Grants | undefined): Allowance[] {
  return (grants?.allowances ?? []).filter(({ ended_at: endedAt }) => endedAt === null);
}

/** Payments, where there have been any. */
function Payments() {
  const cursors = useAddressCursors('payments_');
  const payments = usePayments(cursors.cursor);
  if (cursors.cursor === null && (payments.data?.data.length ?? 0) === 0 && !payments.isError) return null;
  return (
    <Card title="Payments" description="Newest first." isFlush>
      <QueryTable
        query={payments}
        caption="Payments"
        columns={paymentColumns<Payment>()}
        rows={payments.data?.data}
        rowKey={({ id }) => id}
        cursors={cursors}
        nextCursor={payments.data?.next_cursor}
      />
    </Card>
  );
}
