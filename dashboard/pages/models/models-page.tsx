import { SearchX } from 'lucide-react';
import { useSearchValue } from '../../address.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { classNames } from '../../kit/class-names.ts';
import { Page } from '../../kit/page.tsx';
import { SearchInput } from '../../kit/search-input.tsx';
import { EmptyState, Loaded } from '../../kit/states.tsx';
import { ModelTable } from './model-table.tsx';
import {
  type Capability,
  capabilities,
  capabilitiesIn,
  capabilityLabels,
  findModels,
  type ListedModel,
  useModels,
  workloadIn,
  workloadLabels,
  workloads,
} from './models.ts';

export function ModelsPage() {
  const models = useModels();
  return (
    <Page
      title="Models"
      description={
        models.data?.price_group
          ? `The models of this gateway, with their capabilities and your account’s own prices (${models.data.price_group}).`
          : 'The models of this gateway, with their capabilities and prices.'
      }
    >
      <Filters />
      <Loaded query={models} errorTitle="The models could not be loaded">
        {({ data }) => <ModelList models={data} />}
      </Loaded>
    </Page>
  );
}

function useFilters() {
  const [words, setWords] = useSearchValue('q');
  const [workload, setWorkload] = useSearchValue('workload', 'all');
  const [wanted, setWanted] = useSearchValue('can');
  return {
    filters: { words, workload: workloadIn(workload), capabilities: capabilitiesIn(wanted) },
    setWords,
    setWorkload,
    setCapabilities: (chosen: readonly Capability[]) => setWanted(chosen.join(',')),
  };
}

function Filters() {
  const { filters, setWords, setWorkload, setCapabilities } = useFilters();
  const toggle = (capability: Capability) =>
    setCapabilities(
      filters.capabilities.includes(capability)
        ? filters.capabilities.filter((other) => other !== capability)
        : [...filters.capabilities, capability],
    );
  return (
    <div className="flex flex-wrap items-center gap-3">
      <SearchInput
        label="Search models"
        placeholder="Search by name, ID or maker"
        value={filters.words}
        onSearch={setWords}
        className="w-full sm:w-72"
      />
      <Segmented
        label="Workload"
        value={filters.workload}
        options={workloads.map((workload) => ({ value: workload, label: workloadLabels[workload] }))}
        onChange={setWorkload}
      />
      <fieldset className="flex flex-wrap gap-1.5">
        <legend className="sr-only">Capabilities</legend>
        {capabilities.map((capability) => {
          const isWanted = filters.capabilities.includes(capability);
          return (
            <button
              key={capability}
              type="button"
              aria-pressed={isWanted}
              onClick={() => toggle(capability)}
              className={classNames(
                'h-7.5 rounded-full border px-3 text-[0.8125rem] transition-colors',
                isWanted
                  ? 'border-transparent bg-accent-soft font-medium text-accent-text'
                  : 'border-line bg-surface text-ink-soft hover:bg-hover',
              )}
            >
              {capabilityLabels[capability]}
            </button>
          );
        })}
      </fieldset>
    </div>
  );
}

function ModelList({ models }: Readonly<{ models: readonly ListedModel[] }>) {
  const { filters, setWords, setWorkload, setCapabilities } = useFilters();
  const found = findModels(models, filters);
  const isFiltered = filters.words !== '' || filters.workload !== 'all' || filters.capabilities.length > 0;
  if (found.length === 0)
    return (
      <Card>
        {isFiltered ? (
          <EmptyState
            icon={SearchX}
            title="No matching models"
            action={
              filters.words === '' ? (
                <Button
                  onClick={() => (filters.workload === 'all' ? setCapabilities([]) : setWorkload('all'))}
                >
                  Remove a filter
                </Button>
              ) : (
                <Button onClick={() => setWords('')}>Clear search</Button>
              )
            }
          >
            Search for something else, or remove a filter.
          </EmptyState>
        ) : (
          <EmptyState title="No models available yet">
            The operator of this gateway has to configure a provider first.
          </EmptyState>
        )}
      </Card>
    );
  return <ModelTable models={found} />;
}
