/** A day of a provider's bill by model, what may explain a difference, and the versions of the bill. */
import type {
  ReconciledDay,
  ReconciledDetail,
  ReconciledProvider,
} from '../../../../src/console/operator-contract.ts';
import { signOfMoney } from '../../../kit/amounts.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Fact, Facts } from '../../../kit/card.tsx';
import { CodeBlock } from '../../../kit/code-block.tsx';
import { Dialog } from '../../../kit/dialog.tsx';
import { Money, Time } from '../../../kit/figures.tsx';
import { formatDay } from '../../../kit/format-figures.ts';
import { Loaded } from '../../../kit/states.tsx';
import { BreakableCode, type Column, moneyColumn, Table } from '../../../kit/table.tsx';
import { useOperatorQuery } from '../operator-query.ts';

type DayDialogProps = Readonly<{ provider: ReconciledProvider; day: ReconciledDay; onClose: () => void }>;

export function DayDialog({ provider, day, onClose }: DayDialogProps) {
  const query = useOperatorQuery<{ data: ReconciledDetail | null }>(['reconciliation', provider.id, day.day]);
  return (
    <Dialog title={`${provider.name}, ${formatDay(day.day, true)}`} width="wide" onClose={onClose}>
      <Figures day={day} />
      <Loaded query={query}>
        {({ data }) => data !== null && <Detail detail={data} isOff={day.is_within === false} />}
      </Loaded>
      <CodeBlock
        label={`Read the bill of ${formatDay(day.day, true)} again`}
        samples={[{ label: 'Read it again', code: commandFor(provider, day) }]}
      />
    </Dialog>
  );
}

function commandFor({ id, key_variable: variable }: ReconciledProvider, { day }: ReconciledDay): string {
  const command = `tollgate reconcile --provider ${id} --from ${day} --to ${day}`;
  return variable === null ? `${command} --file bill.csv` : command;
}

function Figures({ day }: Readonly<{ day: ReconciledDay }>) {
  return (
    <Facts>
      <Fact name="Charged to customers">
        <Money amount={day.charged} isExact />
      </Fact>
      <Fact name="Metered cost">
        <Money amount={day.metered} isExact />
      </Fact>
      {signOfMoney(day.uncharged) !== 0 && (
        <Fact name="of which no customer was charged for">
          <Money amount={day.uncharged} isExact />
        </Fact>
      )}
      <Fact name="Billed by the provider">
        <Money amount={day.billed} isExact />
      </Fact>
      <Fact name="Difference">
        <Money amount={day.difference} isExact />
      </Fact>
      <Fact name="Tolerance">
        <Money amount={day.tolerance} isExact />
      </Fact>
      <Fact name="Compared">
        <Time at={day.compared_at} style="exact" />
      </Fact>
    </Facts>
  );
}

function Detail({ detail, isOff }: Readonly<{ detail: ReconciledDetail; isOff: boolean }>) {
  return (
    <>
      {isOff && <Explanations explanations={detail.explanations} />}
      {detail.models.length > 0 && (
        <section>
          <h3 className="mb-2 font-medium">By model</h3>
          <Table
            caption="The bill by model"
            columns={modelColumns}
            rows={detail.models}
            rowKey={({ kind, name }) => `${kind} ${name}`}
          />
        </section>
      )}
      {detail.versions.length > 0 && (
        <section>
          <h3 className="mb-2 font-medium">Versions of the bill</h3>
          <Table
            caption="Versions of the bill"
            columns={versionColumns}
            rows={detail.versions}
            rowKey={({ version }) => `${version}`}
          />
        </section>
      )}
    </>
  );
}

function Explanations({ explanations }: Pick<ReconciledDetail, 'explanations'>) {
  return (
    <section>
      <h3 className="mb-2 font-medium">What may explain the difference</h3>
      {explanations.length === 0 ? (
        <p className="text-ink-soft">
          Nothing that is recorded. Other programs may use the same organisation at the provider, or the costs
          in the catalogue may be out of date.
        </p>
      ) : (
        <ul className="list-disc space-y-1.5 pl-5 text-ink-soft">
          {explanations.map(({ kind, text }) => (
            <li key={kind} className="wrap-anywhere">
              {text}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

type BilledModel = ReconciledDetail['models'][number];

const kindLabels: Readonly<Record<BilledModel['kind'], string | null>> = {
  model: null,
  not_mapped: 'Not in the catalogue',
  not_a_model: 'Not a model',
};

const modelColumns: readonly Column<BilledModel>[] = [
  {
    key: 'name',
    header: 'Model',
    isBare: true,
    cell: ({ name, kind }) => (
      <span className="inline-flex flex-wrap items-center gap-x-2 gap-y-1">
        <BreakableCode>{name}</BreakableCode>
        {kindLabels[kind] !== null && <Badge tone="warn">{kindLabels[kind]}</Badge>}
      </span>
    ),
  },
  moneyColumn({
    key: 'metered',
    header: 'Metered cost',
    amountOf: ({ metered }) => metered,
    style: 'total',
  }),
  moneyColumn({ key: 'billed', header: 'Billed', amountOf: ({ billed }) => billed, style: 'total' }),
  {
    key: 'difference',
    header: 'Difference',
    align: 'right',
    amounts: { of: ({ difference }) => difference, style: 'total' },
    cell: ({ difference, is_within: isWithin }) => (
      <Money amount={difference} isTotal className={isWithin ? undefined : 'text-bad'} />
    ),
  },
];

type Version = ReconciledDetail['versions'][number];

const sourceLabels: Readonly<Record<Version['source'], string>> = {
  costs: 'Report of costs',
  analytics: 'Report of costs',
  cost_report: 'Report of costs (legacy)',
  file: 'File',
};

const versionColumns: readonly Column<Version>[] = [
  { key: 'source', header: 'From', isBare: true, cell: ({ source }) => sourceLabels[source] },
  moneyColumn({ key: 'billed', header: 'Billed', amountOf: ({ billed }) => billed, style: 'total' }),
  {
    key: 'first',
    header: 'First read',
    cell: ({ first_read_at: at }) => <Time at={at} />,
  },
  { key: 'last', header: 'Last read', cell: ({ last_read_at: at }) => <Time at={at} /> },
];
