import { useNavigate } from '@tanstack/react-router';
import { X } from 'lucide-react';
import type { GenerationRow } from '../../../src/console/contract.ts';
import { Button } from '../../kit/button.tsx';
import { Field, Select } from '../../kit/field.tsx';
import { useKeyNames, useModelIds } from './queries.ts';

type FiltersProps = Readonly<{ filter: GenerationFilter; rows: readonly GenerationRow[] | undefined }>;

export function Filters({ filter, rows = [] }: FiltersProps) {
  const navigate = useNavigate();
  const keys = useKeyNames();
  const modelIds = useModelIds() ?? [];
  // Models that are gone from the catalogue still have Generations.
  const models = [
    ...new Set([...modelIds, ...rows.map(({ model }) => model), ...present(filter.model)]),
  ].toSorted();
  const change = (changed: Partial<GenerationFilter>) => {
    const { status, model, key } = { ...filter, ...changed };
    const search = { status: status ?? undefined, model: model ?? undefined, key: key ?? undefined };
    navigate({ to: '.', replace: true, resetScroll: false, search }).catch(() => {});
  };
  return (
    <div className="flex flex-wrap items-end gap-3 border-b border-line px-4 py-3 sm:px-5">
      <Field label="Status" className="w-full sm:w-40">
        <Select
          value={filter.status ?? ''}
          onChange={(event) => change({ status: event.target.value || null })}
        >
          <option value="">Any status</option>
          {statuses.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </Field>
      <Field label="Model" className="w-full sm:w-56">
        <Select
          value={filter.model ?? ''}
          onChange={(event) => change({ model: event.target.value || null })}
        >
          <option value="">Any model</option>
          {models.map((model) => (
            <option key={model} value={model}>
              {model}
            </option>
          ))}
        </Select>
      </Field>
      <Field label="Key" className="w-full sm:w-56">
        <Select value={filter.key ?? ''} onChange={(event) => change({ key: event.target.value || null })}>
          <option value="">Any key</option>
          {filter.key !== null && !keys?.some(({ id }) => id === filter.key) && (
            <option value={filter.key}>{keys === undefined ? 'Loading …' : 'Unknown key'}</option>
          )}
          {keys?.map(({ id, name, hint }) => (
            <option key={id} value={id}>
              {`${name} (${hint})`}
            </option>
          ))}
        </Select>
      </Field>
      {isFiltered(filter) && (
        <Button variant="quiet" icon={X} onClick={() => change({ status: null, model: null, key: null })}>
          Clear filters
        </Button>
      )}
    </div>
  );
}

function present(model: string | null): string[] {
  return model === null ? [] : [model];
}

/** Which Generations are shown, as the address of the page says it. What makes no sense there is left out. */
export const statuses = [
  { value: 'in_progress', label: 'In progress' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
  { value: 'cancelled', label: 'Cancelled' },
] as const;

export type GenerationFilter = Readonly<{ status: string | null; model: string | null; key: string | null }>;

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const longestModel = 200;

export function filterIn(search: Readonly<Record<string, unknown>>): GenerationFilter {
  const { status, model, key } = search;
  const isModel = typeof model === 'string' && model !== '' && model.length <= longestModel;
  return {
    status: statuses.find(({ value }) => value === status)?.value ?? null,
    model: isModel ? model : null,
    key: typeof key === 'string' && uuidPattern.test(key) ? key : null,
  };
}

export function isFiltered({ status, model, key }: GenerationFilter): boolean {
  return status !== null || model !== null || key !== null;
}
