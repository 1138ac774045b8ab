/** The statement of a month on paper: without the menus, and with all that someone needs who books it. */
import { Link, useParams } from '@tanstack/react-router';
import { ChevronLeft, Printer } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { MonthStatement } from '../../../src/console/billing-contract.ts';
import { useAccount } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { formatTime } from '../../kit/format-figures.ts';
import { keepFocus } from '../../kit/keep-focus.ts';
import { usePageOfItsOwn } from '../../kit/page.tsx';
import { Loaded } from '../../kit/states.tsx';
import { chargeGroups, chargesOf } from './charges.ts';
import { useMonthStatement } from './month-queries.ts';
import { ArchivedMonth } from './month-view.tsx';
import { formatMonth, formatPeriod, hasCharges } from './month-words.ts';
import { PrintedCharges } from './printed-charges.tsx';
import { StatementLines } from './statement-lines.tsx';

export function PrintedStatementPage() {
  const { month = '' } = useParams({ strict: false });
  const statement = useMonthStatement(month, false);
  const main = useRef<HTMLElement>(null);
  usePageOfItsOwn();
  // The link that led here is gone.
  useEffect(() => keepFocus(main.current), []);
  return (
    <main ref={main} tabIndex={-1} className="mx-auto max-w-3xl px-4 py-8 print:max-w-none print:p-0">
      <div className="mb-8 flex items-center justify-between gap-3 print:hidden">
        <Link
          to="/billing"
          search={{ month }}
          className="-ml-1 inline-flex items-center gap-0.5 rounded text-ink-soft hover:text-ink"
        >
          <ChevronLeft aria-hidden className="size-4" />
          Billing
        </Link>
        <Button icon={Printer} variant="primary" onClick={() => window.print()}>
          Print
        </Button>
      </div>
      <Loaded query={statement} errorTitle="The statement could not be loaded">
        {(data) => <Paper statement={data} />}
      </Loaded>
    </main>
  );
}

function Paper({ statement }: Readonly<{ statement: MonthStatement }>) {
  const { month, closing, is_open: isOpen, detail } = statement;
  const { name, id } = useAccount();
  const [now] = useState(() => new Date());
  const title = `Statement ${month}, ${name}`;
  // The name of the file, if it is printed to one.
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <article className="space-y-8">
      <header className="flex flex-wrap items-start justify-between gap-x-8 gap-y-4 border-b-2 border-ink pb-4">
        <div className="min-w-0">
          <h1 className="text-xl/7 font-semibold tracking-tight">Statement of account</h1>
          <p className="mt-1 text-ink-soft">
            {formatPeriod(month)} (UTC){isOpen && ', so far'}
          </p>
        </div>
        <dl className="min-w-0 sm:text-right">
          <dt className="sr-only">Account</dt>
          <dd className="font-medium wrap-anywhere">{name}</dd>
          <dt className="sr-only">ID of the account</dt>
          <dd className="font-mono text-xs text-ink-soft wrap-anywhere">{id}</dd>
          <dt className="sr-only">Made at</dt>
          <dd className="text-xs text-ink-soft">Made on {formatTime(now, 'moment', 'UTC')} UTC</dd>
        </dl>
      </header>
      {detail === null ? (
        <ArchivedMonth month={month} closing={closing} />
      ) : (
        <>
          <StatementLines month={month} closing={closing} isOpen={isOpen} detail={detail} />
          {hasCharges(detail) &&
            chargeGroups.map(({ value, label }) => (
              <PrintedCharges
                key={value}
                title={`Requests ${label.toLowerCase()}`}
                charges={chargesOf(month, detail, value)}
              />
            ))}
          <p className="text-xs text-ink-soft">
            All amounts are in USD, rounded to cents: the rows of a table can differ from their total by a few
            cents. The CSV file has every digit. Charges and refunds count in the month in which they were
            booked: a request of the last minutes of {formatMonth(month)} may be on the next statement.
          </p>
        </>
      )}
    </article>
  );
}
