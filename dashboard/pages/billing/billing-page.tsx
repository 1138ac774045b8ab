import { keepPreviousData } from '@tanstack/react-query';
import { CreditCard } from 'lucide-react';
import { useEffect } from 'react';
import type { Payment, Statement } from '../../../src/console/contract.ts';
import type { Allowance, Grants } from '../../../src/console/grant-contract.ts';
import { useSearchValue } from '../../address.ts';
import { useAccount, useAccountQuery } from '../../api/session.ts';
import { formatMoneyExactly } from '../../kit/amounts.ts';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { Page } from '../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../kit/query-table.tsx';
import { EmptyState, Loaded } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';
import { AccountExportButton } from '../exports/export-button.tsx';
import { CategoryFigures } from '../grants/category-figures.tsx';
import { AllowancesCard, GrantsCard } from '../grants/grants-card.tsx';
import { useGrants } from '../grants/queries.ts';
import { AddCredit } from './add-credit.tsx';
import { AutomaticTopUpCard } from './automatic-top-up.tsx';
import { MoneyFigures } from './money-figures.tsx';
import { paymentColumns } from './payment-columns.tsx';
import { useCheckCard, useCheckPayment, usePaymentOptions, usePayments } from './payment-queries.ts';
import { digitsOf, entryColumns } from './statement.tsx';

export function BillingPage() {
  const cursors = useAddressCursors();
  const statement = useStatement(cursors.cursor);
  const options = usePaymentOptions();
  const { id, role } = useAccount();
  const grantCursors = useAddressCursors('grants-');
  const grants = useGrants({ accountId: id, isOperator: false }, grantCursors.cursor);
  // Null for an account that has only had plain credits, whose page has no more to say.
  const balances = grants.data?.balances ?? null;
  usePaidOrder(role === 'owner');
  useSavedCard(role === 'owner');
  const hasFailed = statement.data === undefined && statement.isError;
  return (
    <Page
      title="Billing"
      description="Credit, charges and the remaining balance."
      actions={<AccountExportButton name="entries" />}
    >
      {!hasFailed && <MoneyFigures money={statement.data} />}
      {balances !== null && <CategoryFigures balances={balances} />}
      <Loaded query={options} errorTitle="The ways to add credit could not be loaded">
        {(data) => (
          <div className="grid items-start gap-4 lg:grid-cols-2">
            <AddCredit options={data} />
            <div className="grid gap-4">
              {data.is_online && role === 'owner' && <AutomaticTopUpCard options={data} />}
              <AboutHeld />
            </div>
          </div>
        )}
      </Loaded>
      <Payments />
      {balances !== null && <GrantsCard query={grants} cursors={grantCursors} />}
      <AllowancesCard allowances={currentAllowances(grants.data)} />
      <Card title="Statement" description="All transactions, newest first." isFlush>
        <QueryTable
          query={statement}
          caption="Statement"
          columns={entryColumns(digitsOf(statement.data?.data ?? []))}
          rows={statement.data?.data}
          rowKey={({ number }) => `${number}`}
          expectedRows={10}
          empty={
            <EmptyState icon={CreditCard} title="No transactions yet">
              Credit and the cost of each request appear here.
            </EmptyState>
          }
          cursors={cursors}
          nextCursor={statement.data?.next_cursor}
        />
      </Card>
    </Page>
  );
}

function currentAllowances(grants: Grants | undefined): Allowance[] {
  return (grants?.allowances ?? []).filter(({ ended_at: endedAt }) => endedAt === null);
}

function AboutHeld() {
  return (
    <Callout title="What “held” means">
      While a request is running, its maximum cost is set aside. When it ends, only its actual cost is
      charged, and the rest becomes available again.
    </Callout>
  );
}

/** Payments, where there have been any. */
function Payments() {
  const cursors = useAddressCursors('payments_');
  const payments = usePayments(cursors.cursor);
  if (cursors.cursor === null && (payments.data?.data.length ?? 0) === 0) return null;
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

/** The owner who comes back from the payment provider should see the credit without waiting for an event. */
function usePaidOrder(isOwner: boolean): void {
  const [paid, setPaid] = useSearchValue('paid');
  const { mutate } = useCheckPayment();
  useEffect(() => {
    if (paid === '' || !isOwner) return;
    mutate(paid, {
      onSuccess: ({ state, amount }) =>
        state === 'paid'
          ? showToast('good', `${formatMoneyExactly(amount)} was added.`)
          : showToast('good', 'The payment is on its way. The credit appears here when it has arrived.'),
    });
    setPaid('');
  }, [paid, isOwner, mutate, setPaid]);
}

/** The same for whoever has saved a card there. */
function useSavedCard(isOwner: boolean): void {
  const [saved, setSaved] = useSearchValue('saved');
  const { mutate } = useCheckCard();
  useEffect(() => {
    if (saved === '' || !isOwner) return;
    mutate(saved, {
      onSuccess: ({ card }) =>
        card === null
          ? showToast('good', 'The card appears here when it was saved.')
          : showToast('good', 'The card was saved.'),
    });
    setSaved('');
  }, [saved, isOwner, mutate, setSaved]);
}

const pageSize = 50;
const newestEveryMs = 15_000;

function useStatement(cursor: string | null) {
  return useAccountQuery<Statement>('ledger', {
    query: { limit: pageSize, cursor },
    placeholderData: keepPreviousData,
    ...(cursor === null ? { refetchInterval: newestEveryMs } : {}),
  });
}
