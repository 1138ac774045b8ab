/** The state of the providers on every node, recent failures, and a search for any request. */
import { Plug } from 'lucide-react';
import type { Providers } from '../../../../src/console/operator-contract.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';
import { Time } from '../../../kit/figures.tsx';
import { Page } from '../../../kit/page.tsx';
import { EmptyState, ErrorState } from '../../../kit/states.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { providerLink } from '../../../links.ts';
import { ErrorShare } from '../../home/top-table.tsx';
import { FindRequest } from '../../requests/find-request.tsx';
import { countColumn } from '../../requests/of-one-thing.tsx';
import { Circuits } from './circuits.tsx';
import { Failures } from './failures.tsx';
import { describeCircuit, describeProvider, failedShare } from './provider-state.ts';
import { useProviders } from './queries.ts';

export function OperatorProvidersPage() {
  const providers = useProviders();
  const configured = providers.data?.data.filter((provider) => provider.is_configured);
  const isNoneConfigured = configured?.length === 0;
  const unconfigured = (
    <Unconfigured
      providers={providers.data?.data.filter((provider) => !provider.is_configured) ?? []}
      isAlone={isNoneConfigured}
    />
  );
  return (
    <Page title="Providers" description="The providers that this gateway calls, and how they perform.">
      {providers.data === undefined && providers.isError ? (
        <ErrorState error={providers.error} onRetry={providers.refetch} />
      ) : (
        <>
          <ProviderList providers={providers.data} configured={configured} />
          {isNoneConfigured && unconfigured}
          <Circuits
            circuits={providers.data?.data.flatMap(({ name: provider, circuits }) =>
              circuits.map((circuit) => ({ ...circuit, provider })),
            )}
          />
          <Failures
            failures={providers.data?.failures}
            description="The newest 50 failed attempts of the last 24 hours. Another provider may have served the request."
          />
          {!isNoneConfigured && unconfigured}
          <Card title="Find a request" description="Of any account, by the request ID in its response.">
            <FindRequest to="/operator/requests/$id" />
          </Card>
        </>
      )}
    </Page>
  );
}

type Provider = Providers['data'][number];

type ProviderListProps = Readonly<{
  providers: Providers | undefined;
  configured: readonly Provider[] | undefined;
}>;

function ProviderList({ providers, configured }: ProviderListProps) {
  return (
    <div className="space-y-4">
      <Table
        caption="Providers"
        columns={columns}
        rows={configured}
        rowKey={({ id }) => id}
        rowLink={({ id }) => providerLink(id)}
        empty={
          providers?.data.length === 0 ? (
            <EmptyState icon={Plug} title="The catalogue has no providers">
              Add one to the catalogue file. It is loaded again as soon as it changes.
            </EmptyState>
          ) : (
            <p className="text-ink-faint">None is configured.</p>
          )
        }
      />
      <p className="text-xs text-ink-faint">
        Attempts are counted since{' '}
        {providers === undefined ? '…' : <Time at={providers.attempts_since} style="moment" />}, once their
        request has ended. Requests that the provider rejected as invalid do not count as failed. Only
        circuits that have failed since their last success are listed.
      </p>
    </div>
  );
}

const columns: readonly Column<Provider>[] = [
  {
    key: 'name',
    header: 'Provider',
    isBare: true,
    cell: ({ name }) => name,
  },
  {
    key: 'state',
    header: 'State',
    cell: (provider) => {
      const { tone, label } = describeProvider(provider);
      return (
        <Badge tone={tone} hasDot>
          {label}
        </Badge>
      );
    },
  },
  countColumn('hour', 'Last hour', ({ last_hour: { attempts } }) => attempts),
  failedColumn('hour_failed', 'Failed', ({ last_hour: hour }) => hour),
  countColumn('day', 'Last 24 h', ({ last_24_hours: { attempts } }) => attempts),
  failedColumn('day_failed', 'Failed', ({ last_24_hours: day }) => day),
  { key: 'circuits', header: 'Circuits', cell: ({ circuits }) => <CircuitCount circuits={circuits} /> },
];

function failedColumn(
  key: string,
  header: string,
  countsOf: (provider: Provider) => Provider['last_hour'],
): Column<Provider> {
  return {
    key,
    header,
    align: 'right',
    cell: (provider) => {
      const counts = countsOf(provider);
      return (
        <span title={`${counts.failed} of ${counts.attempts}`}>
          <ErrorShare rate={failedShare(counts)} />
        </span>
      );
    },
  };
}

/** How many are in trouble; the page of the provider lists them. */
function CircuitCount({ circuits }: Pick<Provider, 'circuits'>) {
  const troubled = circuits.filter((circuit) => describeCircuit(circuit).tone !== 'plain').length;
  if (troubled === 0) return <span className="text-ink-faint">All closed</span>;
  return <span className="text-bad">{troubled === 1 ? '1 in trouble' : `${troubled} in trouble`}</span>;
}

type UnconfiguredProps = Readonly<{
  providers: Providers['data'];
  /** Whether no provider is configured. */
  isAlone: boolean;
}>;

/** The providers in the catalogue without an API key: often most of them, so only their names are listed. */
function Unconfigured({ providers, isAlone }: UnconfiguredProps) {
  if (providers.length === 0) return null;
  return (
    <Card
      title="Not configured"
      description="Their API keys are not set on this node, or cannot be used; its log says why. To use one, set its variable where the gateway starts, or in the file .env of a checkout, and restart the gateway."
    >
      {isAlone && (
        <div className="mb-4">
          <Callout tone="warn" title="No provider is configured">
            Until one is, all requests to models are rejected.
          </Callout>
        </div>
      )}
      <ul className="flex flex-wrap gap-2">
        {providers.map(({ id, name, key_variable: variable }) => (
          <li key={id} title={id}>
            <Badge>
              {name}
              {variable !== null && <code className="font-mono"> · {variable}</code>}
            </Badge>
          </li>
        ))}
      </ul>
    </Card>
  );
}
