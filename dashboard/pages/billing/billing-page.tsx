/** Money by month, where it comes from, and every entry: three views under one address, which names the one that is shown. */
import { keepPreviousData } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CreditCard } from 'lucide-react';
import { useEffect } from 'react';
import type { Statement } from '../../../src/console/contract.ts';
import { useReplaceSearch, useSearchValue } from '../../address.ts';
import { useAccount, useAccountQuery } from '../../api/session.ts';
import { formatMoneyExactly } from '../../kit/amounts.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Page } from '../../kit/page.tsx';
import { useAddressCursors } from '../../kit/query-table.tsx';
import { showToast } from '../../kit/toast.tsx';
import { CreditView } from './credit-view.tsx';
import { EntriesView } from './entries-view.tsx';
import { MoneyFigures } from './money-figures.tsx';
import { MonthView } from './month-view.tsx';
import { useCheckCard, useCheckPayment } from './payment-queries.ts';

const tabs = [
  { tab: undefined, label: 'Months' },
  { tab: 'credit', label: 'Credit and payments' },
  { tab: 'entries', label: 'Entries' },
] as const;

export function BillingPage() {
  const cursors = useAddressCursors();
  const statement = useStatement(cursors.cursor);
  const { role } = useAccount();
  const [named] = useSearchValue('tab');
  const shown = tabs.find(({ tab }) => tab === named)?.tab;
  usePaidOrder(role === 'owner');
  useSavedCard(role === 'owner');
  const hasFailed = statement.data === undefined && statement.isError;
  return (
    <Page
      title="Billing"
      description="Credit, charges and the remaining balance."
      actions={
        // Others see on the tab why they cannot.
        shown !== 'credit' &&
        role === 'owner' && (
          <LinkButton to="/billing" search={{ tab: 'credit' }} icon={CreditCard}>
            Add credit
          </LinkButton>
        )
      }
    >
      {!hasFailed && <MoneyFigures money={statement.data} />}
      <nav
        aria-label="Views of billing"
        className="flex gap-5 scroll-px-12 overflow-x-auto border-b border-line"
      >
        {tabs.map(({ tab, label }) => (
          <Link
            key={label}
            to="/billing"
            search={{ tab }}
            // Without a tab is a tab of its own.
            activeOptions={{ explicitUndefined: true }}
            resetScroll={false}
            className="-mb-px border-b-2 border-transparent py-2 whitespace-nowrap text-ink-soft -outline-offset-2 hover:text-ink aria-[current=page]:border-accent-text aria-[current=page]:font-medium aria-[current=page]:text-ink"
          >
            {label}
          </Link>
        ))}
      </nav>
      {shown === undefined && <MonthView />}
      {shown === 'credit' && <CreditView />}
      {shown === 'entries' && <EntriesView query={statement} cursors={cursors} />}
    </Page>
  );
}

/** The owner who comes back from the payment provider should see the credit without waiting for an event. */
function usePaidOrder(isOwner: boolean): void {
  const [paid] = useSearchValue('paid');
  const replace = useReplaceSearch();
  const { mutate } = useCheckPayment();
  useEffect(() => {
    if (paid === '' || !isOwner) return;
    mutate(paid, {
      onSuccess: ({ state, amount }) =>
        state === 'paid'
          ? showToast('good', `${formatMoneyExactly(amount)} was added.`)
          : showToast('good', 'The payment is on its way. The credit appears here when it has arrived.'),
    });
    replace(({ paid: _, ...before }) => ({ ...before, tab: 'credit' }));
  }, [paid, isOwner, mutate, replace]);
}

/** The same for whoever has saved a card there. */
function useSavedCard(isOwner: boolean): void {
  const [saved] = useSearchValue('saved');
  const replace = useReplaceSearch();
  const { mutate } = useCheckCard();
  useEffect(() => {
    if (saved === '' || !isOwner) return;
    mutate(saved, {
      onSuccess: ({ card }) =>
        card === null
          ? showToast('good', 'The card appears here when it was saved.')
          : showToast('good', 'The card was saved.'),
    });
    replace(({ saved: _, ...before }) => ({ ...before, tab: 'credit' }));
  }, [saved, isOwner, mutate, replace]);
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
