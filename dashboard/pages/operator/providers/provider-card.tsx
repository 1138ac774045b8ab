import type { ListedCircuit, Providers } from '../../../../src/console/operator-contract.ts';
import { Badge, type BadgeTone } from '../../../kit/badge.tsx';
import { Card, Fact, Facts } from '../../../kit/card.tsx';
import { classNames } from '../../../kit/class-names.ts';
import { Time } from '../../../kit/figures.tsx';
import { formatCount, formatShare } from '../../../kit/format-figures.ts';

type Provider = Providers['data'][number];

export function ProviderCard({ provider }: Readonly<{ provider: Provider }>) {
  const { id, name, adapter, circuits, last_24_hours: recent } = provider;
  const { tone, label } = describeProvider(provider);
  const share = failedShare(recent);
  return (
    <Card
      title={name}
      actions={
        <Badge tone={tone} hasDot>
          {label}
        </Badge>
      }
    >
      <Facts>
        <Fact name="ID">
          <code className="font-mono text-xs">{id}</code>
        </Fact>
        <Fact name="Adapter">{adapter}</Fact>
        <Fact name="Attempts">{formatCount(recent.attempts)}</Fact>
        <Fact name="Failed">
          <span className={classNames(recent.failed > 0 && 'font-medium text-bad')}>
            {formatCount(recent.failed)}
            {share !== null && recent.failed > 0 && ` (${formatShare(share)})`}
          </span>
        </Fact>
      </Facts>
      <div className="mt-3 border-t border-line pt-3">
        <Circuits circuits={circuits} />
      </div>
    </Card>
  );
}

function Circuits({ circuits }: Readonly<{ circuits: readonly ListedCircuit[] }>) {
  if (circuits.length === 0) return <p className="text-ink-soft">All circuits are closed.</p>;
  return (
    <ul className="space-y-2.5">
      {circuits.map((circuit) => (
        <li key={`${circuit.node} ${circuit.model}`}>
          <CircuitLine circuit={circuit} />
        </li>
      ))}
    </ul>
  );
}

function CircuitLine({ circuit }: Readonly<{ circuit: ListedCircuit }>) {
  const { node, model, state, consecutive_failures: failures, until, setback } = circuit;
  const { tone, label } = describeCircuit(circuit);
  return (
    <>
      <p className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
        <code className="min-w-0 font-mono text-[0.8125rem] wrap-anywhere">{model}</code>
        <Badge tone={tone}>{label}</Badge>
      </p>
      {setback !== null && (
        <p className="mt-1 text-[0.8125rem] text-ink">
          {explainSetback(setback)} Last error <Time at={setback.at} style="distance" />.
        </p>
      )}
      <p className="mt-0.5 text-xs text-ink-faint wrap-anywhere">
        On {node}, {failures === 1 ? '1 failure' : `${formatCount(failures)} failures`} in a row
        {until !== null && (
          <>
            , next call <Time at={until} style="distance" />
          </>
        )}
        {state === 'half_open' && '; the next call decides whether the circuit closes'}.
      </p>
    </>
  );
}

type Described = Readonly<{ tone: BadgeTone; label: string }>;

/** The worst state that any node reports for a configured provider. */
export function describeProvider({ circuits }: Pick<Provider, 'circuits'>): Described {
  const states = circuits.map(describeCircuit);
  const worst = (['bad', 'warn'] as const).find((tone) => states.some((state) => state.tone === tone));
  return states.find(({ tone }) => tone === worst) ?? { tone: 'good', label: 'Configured' };
}

type Setback = NonNullable<ListedCircuit['setback']>;

/** What only the operator can fix comes first. A closed circuit with a time means that the provider asked for a pause. */
export function describeCircuit({
  state,
  until,
  accounts_shut: shut,
  setback,
}: Omit<ListedCircuit, 'node' | 'model' | 'consecutive_failures'>): Described {
  if (setback !== null) return { tone: 'bad', label: setbackLabels[setback.kind] };
  if (state === 'open') return { tone: 'bad', label: 'Circuit open' };
  if (state === 'half_open') return { tone: 'warn', label: 'Half open' };
  if (until !== null) return { tone: 'warn', label: 'Paused' };
  return shut > 0
    ? { tone: 'warn', label: shut === 1 ? 'Circuit open for 1 account' : `Circuit open for ${shut} accounts` }
    : { tone: 'plain', label: 'Circuit closed' };
}

const setbackLabels: Readonly<Record<Setback['kind'], string>> = {
  key: 'Key rejected',
  credit: 'No credit',
  model: 'Unknown model',
};

export function explainSetback({ kind, upstream_status: status }: Setback): string {
  const suffix = status === null ? '' : ` (${status})`;
  switch (kind) {
    case 'key':
      return status === 403
        ? `The provider denied access${suffix}. Check the permissions of the key; some providers also deny requests because of their content.`
        : `The provider rejected the key of this gateway${suffix}. Check the key, or create a new one there.`;
    case 'credit':
      return `The provider requires payment${suffix}. Add credit to your account there.`;
    case 'model':
      return `The provider does not know the model${suffix}. It was retired, or its name in the catalogue is wrong.`;
  }
}

/** Null without attempts. */
export function failedShare({ attempts, failed }: Provider['last_24_hours']): number | null {
  return attempts === 0 ? null : failed / attempts;
}
