import { useNavigate } from '@tanstack/react-router';
import { X } from 'lucide-react';
import type { GenerationRow } from '../../../src/console/contract.ts';
import { Button } from '../../kit/button.tsx';
import { Field } from '../../kit/field.tsx';
import { Select } from '../../kit/input.tsx';
import { type GenerationFilter, isFiltered, statuses } from './filter.ts';
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
