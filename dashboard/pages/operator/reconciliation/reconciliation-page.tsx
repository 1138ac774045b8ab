/** What providers billed next to the metered cost, by provider and day. */
import { ReceiptText } from 'lucide-react';
import { useState } from 'react';
import type {
  ReconciledDay,
  ReconciledProvider,
  Reconciliation,
} from '../../../../src/console/operator-contract.ts';
import { sumMoney } from '../../../kit/amounts.ts';
import { Badge, type BadgeTone } from '../../../kit/badge.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { CodeBlock } from '../../../kit/code-block.tsx';
import { Money, Time } from '../../../kit/figures.tsx';
import { formatDay } from '../../../kit/format-figures.ts';
import { NameWithNote } from '../../../kit/name-with-note.tsx';
import { Page } from '../../../kit/page.tsx';
import { EmptyState, Loaded } from '../../../kit/states.tsx';
import { type Column, moneyColumn, Table } from '../../../kit/table.tsx';
import { useOperatorQuery } from '../operator-query.ts';
import { DayDialog } from './day-dialog.tsx';

const refreshMs = 60_000;

export function OperatorReconciliationPage() {
  const query = useOperatorQuery<Reconciliation>(['reconciliation'], { refetchInterval: refreshMs });
  return (
    <Page
      title="Reconciliation"
      description="What providers say they billed, next to the cost that this gateway recorded. Days are in UTC. Customers see none of this."
    >
      <Loaded query={query}>
        {({ providers, data }) =>
          providers.length === 0 ? (
            <NothingYet />
          ) : (
            providers.map((provider) => (
              <ProviderCard
                key={provider.id}
                provider={provider}
                days={data.filter((day) => day.provider === provider.id)}
              />
            ))
          )
        }
      </Loaded>
    </Page>
  );
}

function NothingYet() {
  return (
    <Card>
      <EmptyState icon={ReceiptText} title="No bill has been read yet">
        Name the variable of an admin key as <code className="font-mono text-xs">admin_key_env</code> of a
        provider in the catalogue, and its bill is read once a day. A bill from a file is read with the
        command below.
      </EmptyState>
      <CodeBlock
        label="Reconcile command"
        samples={[
          {
            label: 'Shell',
            code: 'tollgate reconcile --provider NAME --from 2026-11-01 --to 2026-11-30 --file bill.csv',
          },
        ]}
      />
    </Card>
  );
}

type ProviderCardProps = Readonly<{ provider: ReconciledProvider; days: readonly ReconciledDay[] }>;

function ProviderCard({ provider, days }: ProviderCardProps) {
  const [shown, show] = useState<ReconciledDay | null>(null);
  const { tone, label } = describeDays(days);
  return (
    <Card
      title={provider.name}
      description={<Reading provider={provider} />}
      actions={
        <Badge tone={tone} hasDot>
          {label}
        </Badge>
      }
      isFlush
    >
      <Problems provider={provider} />
      {days.length > 0 ? (
        <Table
          caption={`Bills of ${provider.name}`}
          columns={dayColumns(show)}
          rows={days}
          rowKey={({ day }) => day}
          footer={totalsOf(days)}
        />
      ) : (
        <p className="py-4 text-ink-soft">No day has been compared yet.</p>
      )}
      {shown !== null && <DayDialog provider={provider} day={shown} onClose={() => show(null)} />}
    </Card>
  );
}

function Reading({ provider }: Readonly<{ provider: ReconciledProvider }>) {
  const { last_read_at: lastAt, next_read_at: nextAt, key_variable: variable } = provider;
  return (
    <>
      {lastAt === null ? (
        'Not read yet.'
      ) : (
        <>
          Last read <Time at={lastAt} style="distance" />.
        </>
      )}
      {nextAt !== null && (
        <>
          {' '}
          Next time <Time at={nextAt} style="distance" />.
        </>
      )}
      {variable === null && ' Bills come from files.'}
    </>
  );
}

function Problems({ provider }: Readonly<{ provider: ReconciledProvider }>) {
  const { error, notes, key_variable: variable, is_key_set: isKeySet } = provider;
  const isKeyMissing = variable !== null && !isKeySet;
  if (error === null && notes.length === 0 && !isKeyMissing) return null;
  return (
    <div className="space-y-3 border-b border-line py-4">
      {error !== null && (
        <Callout tone="bad" title="The bill could not be read">
          {error.message} This was <Time at={error.at} style="distance" />.
        </Callout>
      )}
      {isKeyMissing && (
        <Callout tone="warn" title={`${variable} is not set`}>
          Without the admin key, the bill is not read by itself.
        </Callout>
      )}
      {notes.length > 0 && (
        <Callout title="About the last bill">
          {notes.map((note) => (
            <p key={note}>{note}</p>
          ))}
        </Callout>
      )}
    </div>
  );
}

type Verdict = Readonly<{ tone: BadgeTone; label: string }>;

/** One word for a provider: the worst of its days that are final. */
export function describeDays(days: readonly Pick<ReconciledDay, 'is_within' | 'is_preliminary'>[]): Verdict {
  const final = days.filter(({ is_preliminary: isPreliminary }) => !isPreliminary);
  const off = final.filter(({ is_within: isWithin }) => isWithin === false).length;
  if (off > 0) return { tone: 'bad', label: off === 1 ? '1 day differs' : `${off} days differ` };
  const missing = final.filter(({ is_within: isWithin }) => isWithin === null).length;
  if (missing > 0)
    return { tone: 'warn', label: missing === 1 ? '1 day without a bill' : `${missing} days without a bill` };
  if (final.length > 0)
    return {
      tone: 'good',
      label: days.every((day) => day.is_within) ? 'Within the tolerance' : 'Final days within the tolerance',
    };
  return { tone: 'plain', label: days.length === 0 ? 'Nothing compared' : 'Preliminary' };
}

/** What the provider may still correct neither differs nor lacks a bill: the word for all days does not count it. */
export function describeDay({
  is_within: isWithin,
  is_preliminary: isPreliminary,
}: Pick<ReconciledDay, 'is_within' | 'is_preliminary'>): Verdict {
  if (isWithin === null) return { tone: 'plain', label: isPreliminary ? 'No bill yet' : 'No bill' };
  if (isWithin) return { tone: 'good', label: isPreliminary ? 'Within, preliminary' : 'Within' };
  return isPreliminary ? { tone: 'plain', label: 'Preliminary' } : { tone: 'bad', label: 'Differs' };
}

function dayColumns(show: (day: ReconciledDay) => void): readonly Column<ReconciledDay>[] {
  return [
    {
      key: 'day',
      header: 'Day',
      isBare: true,
      cell: ({ day, changed }) => (
        <NameWithNote
          name={formatDay(day, true)}
          note={
            changed !== null && (
              <>
                Changed <Time at={changed.at} style="distance" />, was{' '}
                <Money amount={changed.before} isTotal />
              </>
            )
          }
        />
      ),
    },
    amountColumn('charged', 'Charged', ({ charged }) => charged),
    amountColumn('metered', 'Metered cost', ({ metered }) => metered),
    amountColumn('billed', 'Billed', ({ billed }) => billed),
    amountColumn('difference', 'Difference', ({ difference }) => difference),
    {
      key: 'result',
      header: 'Result',
      width: 'w-40 xl:w-48',
      cell: (day) => {
        const { tone, label } = describeDay(day);
        return (
          <Badge tone={tone} hasDot>
            {label}
          </Badge>
        );
      },
    },
    {
      key: 'details',
      header: <span className="sr-only">Details</span>,
      align: 'right',
      isCorner: true,
      width: 'w-20',
      cell: (day) => (
        <button type="button" className={textLinkClass} onClick={() => show(day)}>
          Details<span className="sr-only"> of {formatDay(day.day, true)}</span>
        </button>
      ),
    },
  ];
}

/** Of one width, so that the columns of all providers are below each other. */
function amountColumn(
  key: string,
  header: string,
  amountOf: (day: ReconciledDay) => string | null,
): Column<ReconciledDay> {
  return moneyColumn({ key, header, amountOf, style: 'total', width: 'w-24 xl:w-32' });
}

/** Of the days with a bill: those without would make the difference look larger. */
function totalsOf(days: readonly ReconciledDay[]) {
  const billed = days.filter((day) => day.billed !== null);
  const total = (of: (day: ReconciledDay) => string | null) => (
    <Money amount={sumMoney(billed.map((day) => of(day) ?? '0'))} isTotal />
  );
  return [
    billed.length === days.length ? 'Total' : 'Total of days with a bill',
    total(({ charged }) => charged),
    total(({ metered }) => metered),
    total(({ billed: amount }) => amount),
    total(({ difference }) => difference),
    null,
    null,
  ];
}
