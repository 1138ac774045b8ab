/** The circuits of a provider, one per model and node that has seen a failure since the last success. */
import { Link } from '@tanstack/react-router';
import type { ListedCircuit } from '../../../../src/console/operator-contract.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { Time } from '../../../kit/figures.tsx';
import { Loading, Skeleton } from '../../../kit/states.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { providerLink } from '../../../links.ts';
import { countColumn } from '../../requests/of-one-thing.tsx';
import { describeCircuit, explainSetback } from './provider-state.ts';

/** Of one provider, or with their names those of several. */
type NamedCircuit = ListedCircuit & Readonly<{ provider?: string }>;

type CircuitsProps = Readonly<{
  /** Undefined while they are being loaded. */
  circuits: readonly NamedCircuit[] | undefined;
}>;

export function Circuits({ circuits }: CircuitsProps) {
  const isOfSeveral = circuits?.some(({ provider }) => provider !== undefined);
  return (
    <Card title="Circuits" description="Those that have failed since their last success." isFlush>
      <Table
        caption="Circuits"
        columns={isOfSeveral === true ? [providerColumn, ...columns] : columns}
        rows={circuits ?? []}
        rowKey={({ provider, node, model }) => `${provider} ${node} ${model}`}
        empty={
          circuits === undefined ? (
            // Most often there are none, so this takes the space of that sentence.
            <Loading className="py-3">
              <Skeleton className="h-5 w-36" />
            </Loading>
          ) : (
            <p className="py-3 text-ink-faint">All circuits are closed.</p>
          )
        }
      />
    </Card>
  );
}

const providerColumn: Column<NamedCircuit> = {
  key: 'provider',
  header: 'Provider',
  isBare: true,
  width: 'w-32',
  cell: ({ provider = '' }) => (
    <Link {...providerLink(provider)} className={textLinkClass}>
      {provider}
    </Link>
  ),
};

const columns: readonly Column<NamedCircuit>[] = [
  {
    key: 'model',
    header: 'Model',
    isBare: true,
    cell: ({ model }) => <code className="font-mono text-xs">{model}</code>,
  },
  {
    key: 'state',
    header: 'State',
    cell: (circuit) => {
      const { tone, label } = describeCircuit(circuit);
      return (
        <Badge tone={tone} hasDot>
          {label}
        </Badge>
      );
    },
  },
  { key: 'node', header: 'Node', cell: ({ node }) => node },
  {
    ...countColumn<NamedCircuit>('failures', 'Failures in a row', (circuit) => circuit.consecutive_failures),
    isOptional: true,
  },
  {
    key: 'since',
    header: 'Failing since',
    cell: ({ failing_since: at }) => <Time at={at} style="distance" />,
  },
  { key: 'until', header: 'Next call', isOptional: true, cell: (circuit) => <NextCall circuit={circuit} /> },
  {
    key: 'why',
    header: 'What to do',
    isWrapping: true,
    width: 'md:w-1/3',
    cell: ({ setback }) =>
      setback === null ? (
        // On a narrow screen, it would be a line without a name.
        <span className="text-ink-faint max-md:hidden">–</span>
      ) : (
        <>
          {explainSetback(setback)} Last error <Time at={setback.at} style="distance" />.
        </>
      ),
  },
];

function NextCall({ circuit: { state, until } }: Readonly<{ circuit: ListedCircuit }>) {
  if (until !== null) return <Time at={until} style="distance" />;
  return (
    <span className="text-ink-soft">{state === 'half_open' ? 'Decides whether it closes' : 'At once'}</span>
  );
}
