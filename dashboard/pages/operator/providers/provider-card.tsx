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
  const {
    node,
    model,
    state,
    consecutive_failures: failures,
    until,
    failing_since: since,
    setback,
  } = circuit;
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
        {since !== null && (
          <>
            ; opened <Time at={since} style="distance" />, and no call has succeeded since
          </>
        )}
        {state === 'half_open' && '; the next call decides whether the circuit closes'}.
      </p>
    </>
  );
}

type Described = Readonly<{ tone: BadgeTone; label: string }>;

/** From this share of failed attempts on, a provider serves badly; from the other on, it hardly serves. */
const manyFailed = 0.01;
const mostFailed = 0.25;

/** The worst state that any node reports for a configured provider, or what its attempts show. Without failures it is good. */
export function describeProvider({
  circuits,
  last_24_hours: recent,
}: Pick<Provider, 'circuits' | 'last_24_hours'>): Described {
  const states = [...circuits.map(describeCircuit), describeShare(failedShare(recent))];
  const worst = (['bad', 'warn'] as const).find((tone) => states.some((state) => state.tone === tone));
  const isSpotless = recent.failed === 0 && circuits.length === 0;
  return (
    states.find(({ tone }) => tone === worst) ?? {
      tone: isSpotless && recent.attempts > 0 ? 'good' : 'plain',
      label: recent.attempts > 0 ? 'Serving' : 'Configured',
    }
  );
}

function describeShare(share: number | null): Described {
  const tone = (share ?? 0) >= mostFailed ? 'bad' : (share ?? 0) >= manyFailed ? 'warn' : 'plain';
  return { tone, label: `${formatShare(share ?? 0)} failed` };
}

type Setback = NonNullable<ListedCircuit['setback']>;

/** What only the operator can fix comes first. A closed circuit with a time means that the provider asked for a pause. */
export function describeCircuit({
  state,
  until,
  accounts_shut: shut,
  consecutive_failures: failures,
  setback,
}: Omit<ListedCircuit, 'node' | 'model' | 'failing_since'>): Described {
  if (setback !== null) return { tone: 'bad', label: setbackLabels[setback.kind] };
  if (state === 'open') return { tone: 'bad', label: 'Circuit open' };
  if (state === 'half_open') return { tone: 'warn', label: 'Half open' };
  if (until !== null) return { tone: 'warn', label: 'Paused' };
  if (shut > 0)
    return {
      tone: 'warn',
      label: shut === 1 ? 'Circuit open for 1 account' : `Circuit open for ${shut} accounts`,
    };
  return failures > 0 ? { tone: 'warn', label: 'Failing' } : { tone: 'plain', label: 'Circuit closed' };
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
