/** All payments of all accounts: what was paid, refunded and disputed, and what does not fit. */
import { Link } from '@tanstack/react-router';
import { CreditCard, Ellipsis, RotateCw, Undo2 } from 'lucide-react';
import { useState } from 'react';
import type { OperatorPayment } from '../../../../src/console/operator-contract.ts';
import { useListSearch } from '../../../address.ts';
import { Badge, StatusBadge } from '../../../kit/badge.tsx';
import { IconButton } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { classNames, textLinkClass } from '../../../kit/class-names.ts';
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
import { useCheckPayment, useOperatorPayments, useRefundPayment } from './queries.ts';

export function OperatorPaymentsPage() {
  const [search, setSearch] = useListSearch();
  const cursors = useAddressCursors();
  const payments = useOperatorPayments(search, cursors.cursor);
  const check = useCheckPayment();
  const [refunded, setRefunded] = useState<OperatorPayment | null>(null);
  const ask = (id: string) =>
    check.mutate(id, {
      onSuccess: () => showToast('good', 'This is what Stripe says now.'),
      onError: ({ message }) => showToast('bad', message),
    });
  return (
    <Page title="Payments" description="Of all accounts, newest first.">
      <Card isFlush>
        <div className="border-b border-line p-3 sm:px-5">
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
          columns={[
            accountColumn,
            // The type is among the notes, so that the actions fit on a small screen.
            ...paymentColumns<OperatorPayment>().filter(({ key }) => key !== 'kind'),
            problemColumn,
            actionsColumn<OperatorPayment>((payment) => (
              <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${payment.account.name}`} />}>
                <MenuItem icon={RotateCw} onSelect={() => ask(payment.id)}>
                  Ask Stripe again
                </MenuItem>
                {payment.state === 'paid' && (
                  <MenuItem icon={Undo2} isDangerous onSelect={() => setRefunded(payment)}>
                    Refund
                  </MenuItem>
                )}
              </Menu>
            )),
          ]}
          rows={payments.data?.data}
          rowKey={({ id }) => id}
          expectedRows={6}
          empty={
            <EmptyState icon={CreditCard} title={search === '' ? 'No payments yet' : 'No matching payments'}>
              With PAYMENTS=stripe, owners of accounts can pay on their billing page.
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

const accountColumn: Column<OperatorPayment> = {
  key: 'account',
  header: 'Account',
  isBare: true,
  cell: ({ id, account }) => (
    <span className="block">
      <span className="flex flex-wrap items-center gap-1">
        <Link
          to="/operator/accounts/$id"
          params={{ id: account.id }}
          className={classNames('block w-fit font-medium', textLinkClass)}
        >
          {account.name}
        </Link>
        {account.is_suspended && <StatusBadge status="suspended" />}
      </span>
      <ShortId id={id} label="Copy ID of the payment" />
    </span>
  ),
};

const problemColumn: Column<OperatorPayment> = {
  key: 'problem',
  header: 'Notes',
  cell: ({ kind, problem, warnings, is_live: isLive }) => (
    <span className="inline-flex flex-wrap items-center gap-1">
      {kind === 'automatic' && <Badge>Automatic</Badge>}
      {!isLive && <Badge>Test</Badge>}
      {warnings.map((warning) => (
        <span key={warning.id} className="text-xs text-ink-soft">
          <Badge tone="bad">Fraud report</Badge> {warning.fraud_type.replaceAll('_', ' ')}
        </span>
      ))}
      {problem !== null && <span className="text-xs text-ink-soft">{problem.replaceAll('_', ' ')}</span>}
    </span>
  ),
};

/** However often an amount is confirmed, the refund is made once. */
function RefundDialog({ payment, onClose }: Readonly<{ payment: OperatorPayment; onClose: () => void }>) {
  const [{ amount, reference }, setDraft] = useState(() => ({ amount: '', reference: newUuid() }));
  const refunding = useRefundPayment(payment.id);
  const refund = () =>
    refunding.mutate(
      { amount: amount.trim() === '' ? null : amount.trim(), reference },
      {
        onSuccess: () => {
          showToast('good', 'The refund was made. The credit was taken back.');
          onClose();
        },
      },
    );
  return (
    <FormDialog
      title={`Refund a payment of ${payment.account.name}`}
      description="Stripe sends the money back. The same share of the credit is taken from the balance."
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
