/** The statement of the month that the address names, and what its requests were charged. */
import { ChevronLeft, ChevronRight, Download, Printer, ReceiptText } from 'lucide-react';
import type { BillingMonth, MonthDetail } from '../../../src/console/billing-contract.ts';
import { useSearchValue } from '../../address.ts';
import { formatBalance } from '../../kit/amounts.ts';
import { AnchorButton, IconButton, LinkButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { Select } from '../../kit/field.tsx';
import { EmptyState, Loaded } from '../../kit/states.tsx';
import { type ChargeGroup, chargeGroups, chargesOf } from './charges.ts';
import { ChargesTable } from './charges-table.tsx';
import { useMonthStatement, useMonths, useStatementFile } from './month-queries.ts';
import { formatMonth, hasCharges } from './month-words.ts';
import { StatementLines } from './statement-lines.tsx';

export function MonthView() {
  const months = useMonths();
  const [named, setMonth] = useSearchValue('month');
  return (
    <Loaded query={months} errorTitle="The months could not be loaded">
      {({ data, is_being_added_up: isBeingAddedUp }) => {
        if (isBeingAddedUp) return <UnfinishedMonths />;
        const chosen = data.find(({ month }) => month === named) ?? data[0];
        if (chosen === undefined) return null;
        const choose = (month: string) => setMonth(month === data[0]?.month ? '' : month);
        return (
          <>
            <div className="flex flex-wrap items-center justify-between gap-3">
              <MonthPicker months={data} chosen={chosen} onChoose={choose} />
              <Files month={chosen.month} />
            </div>
            {named !== '' && named !== chosen.month && (
              <Callout tone="warn">There is no statement for {named}. This is the current month.</Callout>
            )}
            <Month {...chosen} />
          </>
        );
      }}
    </Loaded>
  );
}

function UnfinishedMonths() {
  return (
    <Callout title="Statements are being added up">
      This account has so many entries that it takes some minutes after an upgrade. Its balance and all other
      pages are up to date.
    </Callout>
  );
}

type MonthPickerProps = Readonly<{
  months: readonly BillingMonth[];
  chosen: BillingMonth;
  onChoose: (month: string) => void;
}>;

function MonthPicker({ months, chosen, onChoose }: MonthPickerProps) {
  const place = months.indexOf(chosen);
  const [older, newer] = [months[place + 1], months[place - 1]];
  const options = months.map(({ month, is_open: isOpen }) => ({
    value: month,
    label: `${formatMonth(month)}${isOpen ? ' (so far)' : ''}`,
  }));
  return (
    <div className="flex items-center gap-2">
      <IconButton
        icon={ChevronLeft}
        label="Month before"
        disabled={older === undefined}
        onClick={() => older && onChoose(older.month)}
      />
      <Select
        aria-label="Month"
        value={chosen.month}
        options={options}
        onChange={onChoose}
        className="w-60 max-sm:w-64"
      />
      <IconButton
        icon={ChevronRight}
        label="Month after"
        disabled={newer === undefined}
        onClick={() => newer && onChoose(newer.month)}
      />
    </div>
  );
}

function Files({ month }: Readonly<{ month: string }>) {
  const file = useStatementFile(month);
  return (
    <div className="flex items-center gap-2">
      <LinkButton to="/billing/statement/$month" params={{ month }} icon={Printer}>
        Print
      </LinkButton>
      <AnchorButton href={file} icon={Download} download>
        CSV
      </AnchorButton>
    </div>
  );
}

function Month({ month, is_open: isOpen }: BillingMonth) {
  const statement = useMonthStatement(month, isOpen);
  return (
    <Loaded query={statement} errorTitle="The statement could not be loaded">
      {({ month: shown, closing, is_open: isRunning, detail }) =>
        detail === null ? (
          <ArchivedMonth month={shown} closing={closing} />
        ) : (
          <>
            <Card
              title={`Statement of ${formatMonth(shown)}`}
              description="In UTC and rounded to cents. The CSV file has every digit."
            >
              <StatementLines month={shown} closing={closing} isOpen={isRunning} detail={detail} />
            </Card>
            <Charges month={shown} detail={detail} />
          </>
        )
      }
    </Loaded>
  );
}

export function ArchivedMonth({ month, closing }: Readonly<{ month: string; closing: string }>) {
  return (
    <Callout title={`${formatMonth(month)} is archived`}>
      The balance at its end was {formatBalance(closing)}. Its entries are no longer here: ask the operator of
      this gateway if you need them.
    </Callout>
  );
}

function Charges({ month, detail }: Readonly<{ month: string; detail: MonthDetail }>) {
  const [by, setBy] = useSearchValue('by', 'model');
  const group: ChargeGroup = chargeGroups.find(({ value }) => value === by)?.value ?? 'model';
  return (
    <Card
      title="Charges"
      description="A request is charged when it ends."
      actions={
        <Segmented
          label="Charges by"
          value={group}
          options={chargeGroups.map(({ value, label }) => ({ value, label }))}
          onChange={setBy}
        />
      }
      isFlush
    >
      {hasCharges(detail) ? (
        <ChargesTable caption={`Charges by ${group}`} charges={chargesOf(month, detail, group)} />
      ) : (
        <EmptyState icon={ReceiptText} title="No charges in this month">
          What requests cost appears here as soon as they have ended.
        </EmptyState>
      )}
    </Card>
  );
}
