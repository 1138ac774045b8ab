/** The catalogue that this node uses, and why the file or a model does not work. */

import { Link } from '@tanstack/react-router';
import { BookMarked } from 'lucide-react';
import type { CatalogStatus } from '../../../../src/console/operator-contract.ts';
import { useSearchValue } from '../../../address.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card, Fact, Facts } from '../../../kit/card.tsx';
import { Segmented } from '../../../kit/choice.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { CodeBlock } from '../../../kit/code-block.tsx';
import { CopyButton } from '../../../kit/copy-button.tsx';
import { Dash, Time } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { ModelMark } from '../../../kit/model-mark.tsx';
import { NameWithNote } from '../../../kit/name-with-note.tsx';
import { Page } from '../../../kit/page.tsx';
import { SearchInput } from '../../../kit/search-input.tsx';
import { EmptyState, Loaded, SkeletonLines } from '../../../kit/states.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { providerLink, requestsWith } from '../../../links.ts';
import { useOperatorQuery } from '../operator-query.ts';

export function OperatorCatalogPage() {
  const catalog = useCatalog();
  return (
    <Page title="Catalogue" description="The models and prices that this node uses.">
      {catalog.data !== undefined && catalog.data.error !== null && (
        <LoadError error={catalog.data.error} file={catalog.data.file} />
      )}
      {catalog.data !== undefined && catalog.data.warnings.length > 0 && (
        <BelowCost warnings={catalog.data.warnings} />
      )}
      <Card title="Active catalogue">
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
    <section className="space-y-3" aria-label="Catalogue error">
      <Callout tone="bad" title="The current file could not be loaded">
        The gateway keeps using the catalogue below. Fix <code className="font-mono">{file}</code>: it is
        loaded again as soon as it changes. Last attempt: <Time at={error.at} style="exact" />.
      </Callout>
      <CodeBlock label="Error message" samples={[{ label: 'Error', code: error.message }]} />
    </section>
  );
}

function BelowCost({ warnings }: Readonly<{ warnings: readonly string[] }>) {
  return (
    <Callout tone="warn" title="Some prices need your attention">
      <ul className="mt-1 list-disc space-y-1 pl-4">
        {warnings.map((warning) => (
          <li key={warning} className="wrap-anywhere">
            {warning}
          </li>
        ))}
      </ul>
    </Callout>
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
      <Fact name="Price digest">
        <span className="inline-flex max-w-full items-center gap-0.5">
          <code title={status.digest} className="truncate font-mono text-[0.8125rem]">
            {status.digest.slice(0, 16)}…
          </code>
          <CopyButton text={status.digest} label="Copy digest" />
        </span>
      </Fact>
      {status.price_groups.map(({ name, accounts }) => (
        <Fact key={name} name={`Price group ${name}`}>
          {accounts === 1 ? '1 account' : `${formatCount(accounts)} accounts`}
        </Fact>
      ))}
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
    <Card
      title="Models"
      isFlush
      actions={
        <>
          <SearchInput
            label="Search models"
            placeholder="Model or provider"
            value={words}
            onSearch={setWords}
            className="w-full sm:w-56"
          />
          <Segmented
            label="Show"
            value={shown}
            options={[
              { value: 'all', label: 'All' },
              { value: 'callable', label: 'Callable' },
              { value: 'not-callable', label: 'Not callable' },
            ]}
            onChange={setShow}
          />
        </>
      }
    >
      <Table
        caption="Models of the catalogue"
        columns={modelColumns}
        rows={models && filterModels(models, words, shown)}
        rowKey={({ id }) => id}
        expectedRows={8}
        empty={
          models?.length === 0 ? (
            <EmptyState icon={BookMarked} title="The catalogue has no models">
              Add one to the catalogue file. It is loaded again as soon as it changes.
            </EmptyState>
          ) : (
            <EmptyState icon={BookMarked} title="No matching models">
              Search for something else, or show all models.
            </EmptyState>
          )
        }
      />
    </Card>
  );
}

export type CatalogModel = CatalogStatus['models'][number];

const shownModels = ['all', 'callable', 'not-callable'] as const;
type ShownModels = (typeof shownModels)[number];

/** Searches IDs, names and providers. */
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

const modelColumns: readonly Column<CatalogModel>[] = [
  {
    key: 'model',
    header: 'Model',
    isBare: true,
    cell: ({ id, name }) => (
      <NameWithNote
        name={
          <>
            <ModelMark model={id} />
            <Link {...requestsWith({ model: id }, 'operator')} className="rounded hover:underline">
              <code className="font-mono">{id}</code>
            </Link>
          </>
        }
        note={name !== id && name}
      />
    ),
  },
  { key: 'workload', header: 'Workload', cell: ({ workload }) => workload },
  {
    key: 'state',
    header: 'Status',
    cell: ({ is_callable: isCallable, is_enabled: isEnabled }) => (
      <Badge tone={isCallable ? 'good' : isEnabled ? 'warn' : 'plain'} hasDot>
        {isCallable ? 'Callable' : 'Not callable'}
      </Badge>
    ),
  },
  {
    key: 'providers',
    header: 'Providers',
    cell: ({ providers }) =>
      providers.length === 0 ? (
        <span className="text-ink-faint">None</span>
      ) : (
        <span className="inline-flex flex-wrap gap-x-3 md:max-w-64">
          {providers.map(({ id, is_configured: isConfigured }) => (
            <span key={id} className={isConfigured ? undefined : 'text-warn'}>
              <Link {...providerLink(id)} className={textLinkClass}>
                {id}
              </Link>
              {!isConfigured && ': no key'}
            </span>
          ))}
        </span>
      ),
  },
  {
    key: 'reason',
    header: 'Reason',
    isWrapping: true,
    cell: ({ reason }) =>
      reason ?? (
        <span className="max-md:hidden">
          <Dash />
        </span>
      ),
  },
];

const refreshMs = 5_000;

function useCatalog() {
  return useOperatorQuery<CatalogStatus>(['catalog'], { refetchInterval: refreshMs });
}
