import type { Circuit, Providers } from '../../../../src/console/operator-contract.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Card } from '../../../kit/card.tsx';
import { classNames } from '../../../kit/class-names.ts';
import { Fact, Facts } from '../../../kit/facts.tsx';
import { formatCount, formatShare } from '../../../kit/format-figures.ts';
import { Time } from '../../../kit/time.tsx';
import { describeCircuit, describeProvider, explainSetback, failedShare } from './describe-provider.ts';

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

function Circuits({ circuits }: Readonly<{ circuits: readonly Circuit[] }>) {
  if (circuits.length === 0)
    return <p className="text-ink-soft">Every circuit is closed, and nothing failed last.</p>;
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

function CircuitLine({ circuit }: Readonly<{ circuit: Circuit }>) {
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
          {explainSetback(setback)} Last seen <Time at={setback.at} style="distance" />.
        </p>
      )}
      <p className="mt-0.5 text-xs text-ink-faint wrap-anywhere">
        On {node}, {failures === 1 ? '1 failure' : `${formatCount(failures)} failures`} in a row
        {until !== null && (
          <>
            , {state === 'open' ? 'tried again' : 'called again'} <Time at={until} style="distance" />
          </>
        )}
        .
      </p>
    </>
  );
}
