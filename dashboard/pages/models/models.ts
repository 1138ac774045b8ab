/** A model as the list says it. The server writes decimals into the JSON as they are; read back, they are numbers. */
import type { Model } from '../../../src/console/contract.ts';
import { useAccountQuery } from '../../api/session.ts';

type Decimal = NonNullable<Model['pricing']['input']>;
type ReadBack<Value> = Value extends Decimal
  ? number
  : Value extends object
    ? { [Name in keyof Value]: ReadBack<Value[Name]> }
    : Value;

export type Pricing = ReadBack<Model['pricing']>;
export type ListedModel = Omit<Model, 'pricing'> & Readonly<{ pricing: Pricing }>;

/** As long as the server lets a copy be kept. */
const keptMs = 300_000;

export function useModels() {
  return useAccountQuery<{ data: ListedModel[] }>('models', { staleTime: keptMs });
}

/** Search and filters of the model list. What the address says is only taken when it names something that exists. */
export const workloads = ['all', 'chat', 'image', 'video'] as const;
type WorkloadFilter = (typeof workloads)[number];

export const capabilityLabels = {
  image_input: 'Sees images',
  streaming: 'Streams',
  function_calling: 'Calls tools',
  structured_output: 'Structured output',
} as const;
export type Capability = keyof typeof capabilityLabels;
export const capabilities = Object.keys(capabilityLabels) as readonly Capability[];

type ModelFilters = Readonly<{
  words: string;
  workload: WorkloadFilter;
  /** All of them must be there. */
  capabilities: readonly Capability[];
}>;

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
    const text = `${model.id} ${model.name} ${model.owned_by}`.toLowerCase();
    return (
      (filters.workload === 'all' || model.workload === filters.workload) &&
      filters.capabilities.every((capability) => model.capabilities[capability]) &&
      words.every((word) => text.includes(word))
    );
  });
}
