import type { GenerationRow } from '../../../src/console/contract.ts';
import { useReplaceSearch } from '../../address.ts';
import { Field, Select } from '../../kit/field.tsx';
import { Picker } from '../../kit/picker.tsx';
import { useModels } from '../models/models.ts';
import { AttributionFields } from './attribution.tsx';
import { type GenerationFilter, isFiltered, searchOf, statuses } from './filter.ts';
import { useKeyNames } from './queries.ts';

type FiltersProps = Readonly<{ filter: GenerationFilter; rows: readonly GenerationRow[] | undefined }>;

export function Filters({ filter, rows = [] }: FiltersProps) {
  const replace = useReplaceSearch();
  const keys = useKeyNames();
  const listed = useModels().data?.data ?? [];
  // Models that were removed from the catalogue still have Generations.
  const models = new Set([...listed.map(({ id }) => id), ...rows.map(({ model }) => model)]);
  if (filter.model !== null) models.add(filter.model);
  const isKnownKey = filter.key === null || keys?.some(({ id }) => id === filter.key);
  const change = (changed: Partial<GenerationFilter>) => replace(() => searchOf({ ...filter, ...changed }));
  return (
    <div className="flex flex-wrap items-start gap-3 border-b border-line py-3">
      <Field label="Status" className="w-full sm:w-40">
        <Select
          value={filter.status ?? ''}
          options={[{ value: '', label: 'Any status' }, ...statuses]}
          onChange={(status) => change({ status: status || null })}
        />
      </Field>
      <Field label="Model" className="w-full sm:w-56">
        <Select
          value={filter.model ?? ''}
          options={[
            { value: '', label: 'Any model' },
            ...[...models].toSorted().map((model) => ({ value: model, label: model })),
          ]}
          onChange={(model) => change({ model: model || null })}
        />
      </Field>
      <Field label="Key" className="w-full sm:w-56">
        <Picker
          value={filter.key ?? ''}
          options={[
            { value: '', label: 'Any key' },
            ...(isKnownKey
              ? []
              : [{ value: filter.key ?? '', label: keys === undefined ? 'Loading …' : 'Unknown key' }]),
            ...(keys ?? []).map(({ id, name, hint }) => ({ value: id, label: `${name} (${hint})` })),
          ]}
          onChange={(key) => change({ key: key || null })}
        />
      </Field>
      <div className="flex w-full flex-wrap items-start gap-3">
        <AttributionFields
          filter={filter}
          onChange={change}
          onClear={isFiltered(filter) ? () => replace(() => ({})) : null}
        />
      </div>
    </div>
  );
}
