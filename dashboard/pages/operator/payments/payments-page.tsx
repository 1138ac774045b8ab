/** All payments of all accounts: what was paid, refunded and disputed, and what does not fit. */
import { Link } from '@tanstack/react-router';
import { CreditCard, Ellipsis, Receipt, RotateCw, Undo2 } from 'lucide-react';
import { useState } from 'react';
import type { OperatorPayment } from '../../../../src/console/operator-contract.ts';
import { useListSearch } from '../../../address.ts';
import { Badge, StatusBadge } from '../../../kit/badge.tsx';
import { IconButton } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { classNames, nameLinkClass } from '../../../kit/class-names.ts';
import { ShortId } from '../../../kit/copy-button.tsx';
import { FormDialog } from '../../../kit/dialog.tsx';
import { Field, Input } from '../../../kit/field.tsx';
import { Menu, MenuItem } from '../../../kit/menu.tsx';
import { Page } from '../../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../../kit/query-table.tsx';
import { SearchInput } from '../../../kit/search-input.tsx';
import { EmptyState, fieldProblem } from '../../../kit/states.tsx';
import { actionsColumn, type Column } from '../../../kit/table.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { paymentColumns } from '../../billing/payment-columns.tsx';
import { newUuid } from '../accounts/account-dialogs.tsx';
import { useCheckPayment, useOperatorPayments, useRefundPayment, useStuckPayments } from './queries.ts';

export function OperatorPaymentsPage() {
  const [search, setSearch] = useListSearch();
  const cursors = useAddressCursors();
  const payments = useOperatorPayments(search, cursors.cursor);
  const stuck = useStuckPayments();
  const ask = useAsking();
  const [refunded, setRefunded] = useState<OperatorPayment | null>(null);
  const columns = columnsFor(ask, setRefunded);
  return (
    <Page title="Payments" description="Of all accounts, newest first.">
      {(stuck.data?.data.length ?? 0) > 0 && (
        <Card
          title="Need attention"
          description="Stripe could not be asked about these, or they were paid but do not fit their order. Nothing was credited for the latter: refund them, or add the credit yourself."
          isFlush
        >
          <QueryTable
            query={stuck}
            caption="Payments that need attention"
            columns={columns}
            rows={stuck.data?.data}
            rowKey={({ id }) => id}
          />
        </Card>
      )}
      <Card isFlush>
        <div className="border-b border-line pb-3">
          <SearchInput
            label="Search payments"
            placeholder="Account or ID"
            value={search}
            onSearch={setSearch}
            className="sm:max-w-xs"
          />
        </div>
        <QueryTable
          query={payments}
          caption="Payments"
          columns={columns}
          rows={payments.data?.data}
          rowKey={({ id }) => id}
          expectedRows={6}
          empty={
            <EmptyState icon={CreditCard} title={search === '' ? 'No payments yet' : 'No matching payments'}>
              {search === ''
                ? 'With PAYMENTS=stripe, owners of accounts can pay on their billing page.'
                : 'Search for something else.'}
            </EmptyState>
          }
          cursors={cursors}
          nextCursor={payments.data?.next_cursor}
        />
      </Card>
      {refunded !== null && <RefundDialog payment={refunded} onClose={() => setRefunded(null)} />}
    </Page>
  );
}

/** Says what came of it. */
function useAsking(): (id: string) => void {
  const { mutate } = useCheckPayment();
  return (id) =>
    mutate(id, {
      onSuccess: ({ look_problem: problem }) =>
        problem === null
          ? showToast('good', 'This is what Stripe says now.')
          : showToast('bad', `Stripe could not be asked (${problem.replaceAll('_', ' ')}). Try again later.`),
      onError: ({ message }) => showToast('bad', message),
    });
}

function columnsFor(
  onAsk: (id: string) => void,
  onRefund: (payment: OperatorPayment) => void,
): Column<OperatorPayment>[] {
  return [
    accountColumn,
    // The receipt is in the menu, to leave room for what is wrong.
    ...paymentColumns<OperatorPayment>()
      .filter(({ key }) => key !== 'receipt')
      .map((column) => ({ ...column, isBare: false })),
    problemColumn,
    actionsColumn<OperatorPayment>((payment) => (
      <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${payment.account.name}`} />}>
        <MenuItem icon={RotateCw} onSelect={() => onAsk(payment.id)}>
          Ask Stripe again
        </MenuItem>
        {payment.receipt_url !== null && (
          <MenuItem
            icon={Receipt}
            onSelect={() => window.open(payment.receipt_url ?? '', '_blank', 'noopener')}
          >
            View receipt
          </MenuItem>
        )}
        {(payment.state === 'paid' || payment.state === 'contradicted') && (
          <MenuItem icon={Undo2} isDangerous onSelect={() => onRefund(payment)}>
            Refund
          </MenuItem>
        )}
      </Menu>
    )),
  ];
}

const accountColumn: Column<OperatorPayment> = {
  key: 'account',
  header: 'Account',
  isBare: true,
  cell: ({ id, account }) => (
    <span className="flex flex-wrap items-center gap-x-2 md:flex-nowrap">
      <span className="flex flex-wrap items-center gap-x-2 md:flex-nowrap">
        <Link
          to="/operator/accounts/$id"
          params={{ id: account.id }}
          className={classNames('block w-fit', nameLinkClass)}
        >
          {account.name}
        </Link>
        {account.is_suspended && <StatusBadge status="suspended" />}
      </span>
      <span className="md:max-xl:hidden">
        <ShortId id={id} label="Copy ID of the payment" />
      </span>
    </span>
  ),
};

const problemColumn: Column<OperatorPayment> = {
  key: 'problem',
  header: 'Notes',
  isWrapping: true,
  cell: ({ kind, is_live: isLive, problem, look_problem: lookProblem, warnings }) => (
    <span className="flex flex-wrap items-center gap-1 text-xs text-ink-soft">
      {!isLive && <Badge>Test</Badge>}
      {/* Where the type has no column. */}
      {kind === 'automatic' && <span className="hidden md:max-xl:inline">Automatic top-up</span>}
      {warnings.map((warning) => (
        <span key={warning.id}>
          <Badge tone="bad">Fraud report</Badge> {inWords(warning.fraud_type)}
        </span>
      ))}
      {lookProblem !== null && (
        <span className="block">Stripe could not be asked ({lookProblem.replaceAll('_', ' ')})</span>
      )}
      {problem !== null && inWords(problem)}
    </span>
  ),
};

/** A code of Stripe or of an order. */
function inWords(code: string): string {
  return `${code.slice(0, 1).toUpperCase()}${code.slice(1).replaceAll('_', ' ')}`;
}

/** However often an amount is confirmed, the refund is made once. */
function RefundDialog({ payment, onClose }: Readonly<{ payment: OperatorPayment; onClose: () => void }>) {
  const [{ amount, reference }, setDraft] = useState(() => ({ amount: '', reference: newUuid() }));
  const refunding = useRefundPayment(payment.id);
  const refund = () =>
    refunding.mutate(
      { amount: amount.trim() === '' ? null : amount.trim(), reference },
      {
        onSuccess: ({ look_problem: problem }) => {
          if (problem === null) showToast('good', 'The refund was made.');
          else
            showToast(
              'bad',
              'The refund was made, but Stripe could not be asked about it. It appears here later.',
            );
          onClose();
        },
      },
    );
  return (
    <FormDialog
      title={`Refund a payment of ${payment.account.name}`}
      description={
        payment.state === 'paid'
          ? 'Stripe sends the money back. The same share of the credit is taken from the balance.'
          : 'Stripe sends the money back. Nothing was credited for this payment, so nothing is taken from the balance.'
      }
      submitLabel="Refund"
      isDangerous
      isBusy={refunding.isPending}
      error={refunding.error}
      ownFields={['amount']}
      onSubmit={refund}
      onClose={onClose}
    >
      <Field
        label="Amount in USD, with tax"
        hint="Leave it empty to refund all that is left."
        error={fieldProblem(refunding.error, 'amount')}
        isOptional
      >
        <Input
          inputMode="decimal"
          value={amount}
          onChange={({ target }) => setDraft({ amount: target.value, reference: newUuid() })}
        />
      </Field>
    </FormDialog>
  );
}
