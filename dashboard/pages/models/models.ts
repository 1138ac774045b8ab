/** The model list, with its search and filters. */
import type { Model } from '../../../src/console/contract.ts';
import { useAccount, useAccountQuery } from '../../api/session.ts';

/** The server writes exact decimals into the JSON; once parsed, they are numbers. */
type Decimal = NonNullable<Model['pricing']['input']>;
type Parsed<Value> = Value extends Decimal
  ? number
  : Value extends object
    ? { [Name in keyof Value]: Parsed<Value[Name]> }
    : Value;

export type Pricing = Parsed<Model['pricing']>;
export type ListedModel = Omit<Model, 'pricing'> & Readonly<{ pricing: Pricing }>;

/** As long as the server allows the response to be cached. */
const staleMs = 300_000;

/** Those of another price group have another address, because the browser keeps what it got from this one. */
export function useModels() {
  const { price_group } = useAccount();
  return useAccountQuery<{ data: ListedModel[]; price_group: string | null }>('models', {
    query: { price_group },
    staleTime: staleMs,
  });
}

export const workloadLabels = { all: 'All', chat: 'Chat', image: 'Image', video: 'Video' } as const;
export const workloads = ['all', 'chat', 'image', 'video'] as const;
type WorkloadFilter = (typeof workloads)[number];

export const capabilityLabels = {
  image_input: 'Image input',
  streaming: 'Streaming',
  function_calling: 'Tool calls',
  structured_output: 'Structured output',
} as const;
export type Capability = keyof typeof capabilityLabels;
export const capabilities = Object.keys(capabilityLabels) as readonly Capability[];

type ModelFilters = Readonly<{
  words: string;
  workload: WorkloadFilter;
  /** A model must have all of them. */
  capabilities: readonly Capability[];
}>;

/** Unknown values in the address are ignored. */
export function workloadIn(text: string): WorkloadFilter {
  return workloads.find((workload) => workload === text) ?? 'all';
}

export function capabilitiesIn(text: string): readonly Capability[] {
  const named = text.split(',');
  return capabilities.filter((capability) => named.includes(capability));
}

export function findModels(models: readonly ListedModel[], filters: ModelFilters): readonly ListedModel[] {
  const words = filters.words.toLowerCase().split(/\s+/).filter(Boolean);
  return models.filter((model) => {
    const text = `${model.id} ${model.name} ${model.maker} ${model.owned_by}`.toLowerCase();
    return (
      (filters.workload === 'all' || model.workload === filters.workload) &&
      filters.capabilities.every((capability) => model.capabilities[capability]) &&
      words.every((word) => text.includes(word))
    );
  });
}
