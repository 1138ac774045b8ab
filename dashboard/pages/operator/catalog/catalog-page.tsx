/** The catalogue as this node has it in force, and what keeps the file or a model from working. */
import { BookMarked } from 'lucide-react';
import type { CatalogStatus } from '../../../../src/console/operator-contract.ts';
import { useSearchValue } from '../../../address.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card, Fact, Facts } from '../../../kit/card.tsx';
import { Segmented } from '../../../kit/choice.tsx';
import { CodeBlock } from '../../../kit/code-block.tsx';
import { CopyButton } from '../../../kit/copy-button.tsx';
import { Time } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { Page } from '../../../kit/page.tsx';
import { SearchInput } from '../../../kit/search-input.tsx';
import { EmptyState, Loaded, SkeletonLines } from '../../../kit/states.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { useOperatorQuery } from '../operator-query.ts';

export function OperatorCatalogPage() {
  const catalog = useCatalog();
  return (
    <Page title="Catalogue" description="The models and prices that this node has in force.">
      {catalog.data !== undefined && catalog.data.error !== null && (
        <LoadError error={catalog.data.error} file={catalog.data.file} />
      )}
      <Card title="In force">
        <Loaded query={catalog} skeleton={<SkeletonLines count={9} />}>
          {(status) => <InForce status={status} />}
        </Loaded>
      </Card>
      {!(catalog.data === undefined && catalog.isError) && <Models models={catalog.data?.models} />}
    </Page>
  );
}

type LoadErrorProps = Readonly<{ error: NonNullable<CatalogStatus['error']>; file: string }>;

function LoadError({ error, file }: LoadErrorProps) {
  return (
    <section className="space-y-3" aria-label="Why the file was not loaded">
      <Callout tone="bad" title="The file as it is now was not loaded">
        The gateway goes on with the catalogue below. Correct <code className="font-mono">{file}</code>: it is
        read again as soon as it changes. Last tried <Time at={error.at} style="exact" />.
      </Callout>
      <CodeBlock label="the error" samples={[{ label: 'What is wrong with it', code: error.message }]} />
    </section>
  );
}

function InForce({ status }: Readonly<{ status: CatalogStatus }>) {
  const callable = status.models.filter((model) => model.is_callable).length;
  return (
    <Facts>
      <Fact name="File">
        <code className="font-mono text-[0.8125rem]">{status.file}</code>
      </Fact>
      <Fact name="Price version">{status.price_version}</Fact>
      <Fact name="Loaded">
        <Time at={status.loaded_at} style="exact" />
      </Fact>
      <Fact name="Digest of the prices">
        <span className="inline-flex max-w-full items-center gap-0.5">
          <code title={status.digest} className="truncate font-mono text-[0.8125rem]">
            {status.digest.slice(0, 16)}…
          </code>
          <CopyButton text={status.digest} label="Copy the digest" />
        </span>
      </Fact>
      <Fact name="Providers">{formatCount(status.providers)}</Fact>
      <Fact name="Models">
        {formatCount(status.models.length)}, {formatCount(callable)} of them callable
      </Fact>
    </Facts>
  );
}

function Models({ models }: Readonly<{ models: CatalogStatus['models'] | undefined }>) {
  const [words, setWords] = useSearchValue('search');
  const [show, setShow] = useSearchValue('show', 'all');
  const shown = shownModels.find((value) => value === show) ?? 'all';
  return (
    <Card title="Models" isFlush>
      <div className="flex flex-wrap items-center gap-2 border-b border-line p-3 sm:px-5">
        <SearchInput
          label="Search models"
          placeholder="Model or provider"
          value={words}
          onSearch={setWords}
          className="w-full sm:w-72"
        />
        <Segmented
          label="Which models"
          value={shown}
          options={[
            { value: 'all', label: 'All' },
            { value: 'callable', label: 'Callable' },
            { value: 'not-callable', label: 'Not callable' },
          ]}
          onChange={setShow}
        />
      </div>
      <Table
        caption="Models of the catalogue"
        columns={modelColumns}
        rows={models && filterModels(models, words, shown)}
        rowKey={({ id }) => id}
        expectedRows={8}
        empty={
          models?.length === 0 ? (
            <EmptyState icon={BookMarked} title="The catalogue has no models">
              Add one to the catalogue file. It is read again as soon as it changes.
            </EmptyState>
          ) : (
            <EmptyState icon={BookMarked} title="No model fits">
              Search for something else, or show all of them.
            </EmptyState>
          )
        }
      />
    </Card>
  );
}

export type CatalogModel = CatalogStatus['models'][number];

export const shownModels = ['all', 'callable', 'not-callable'] as const;
type ShownModels = (typeof shownModels)[number];

/** By a part of the ID, the name or a provider. */
export function filterModels(
  models: readonly CatalogModel[],
  words: string,
  shown: ShownModels,
): readonly CatalogModel[] {
  const wanted = words.trim().toLowerCase();
  return models.filter(
    ({ id, name, providers, is_callable: isCallable }) =>
      (shown === 'all' || isCallable === (shown === 'callable')) &&
      [id, name, ...providers.map((provider) => provider.id)].some((text) =>
        text.toLowerCase().includes(wanted),
      ),
  );
}

export const modelColumns: readonly Column<CatalogModel>[] = [
  {
    key: 'model',
    header: 'Model',
    isBare: true,
    cell: ({ id, name }) => (
      <span className="block">
        <code className="block font-mono text-[0.8125rem] font-medium">{id}</code>
        {name !== id && <span className="block text-xs text-ink-faint">{name}</span>}
      </span>
    ),
  },
  { key: 'workload', header: 'Workload', cell: ({ workload }) => workload },
  {
    key: 'state',
    header: 'State',
    cell: ({ is_callable: isCallable, is_enabled: isEnabled }) => (
      <Badge tone={isCallable ? 'good' : isEnabled ? 'warn' : 'plain'} hasDot>
        {isCallable ? 'Callable' : 'Not callable'}
      </Badge>
    ),
  },
  {
    key: 'reason',
    header: 'Why not',
    cell: ({ reason }) => reason ?? <span className="text-ink-faint">–</span>,
  },
  {
    key: 'providers',
    header: 'Providers',
    cell: ({ providers }) =>
      providers.length === 0 ? (
        <span className="text-ink-faint">None</span>
      ) : (
        <span className="flex flex-wrap gap-1">
          {providers.map(({ id, is_configured: isConfigured }) => (
            <Badge key={id} tone={isConfigured ? 'plain' : 'warn'}>
              {isConfigured ? id : `${id}: no key`}
            </Badge>
          ))}
        </span>
      ),
  },
];

const liveEveryMs = 5_000;

/** The file is read again whenever it changes, and whoever changes it looks here. */
export function useCatalog() {
  return useOperatorQuery<CatalogStatus>(['catalog'], { refetchInterval: liveEveryMs });
}
