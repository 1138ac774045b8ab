/** Which models a key may call: all of them, or those that are ticked. */
import { useId, useState } from 'react';
import { Checkbox } from '../../kit/choice.tsx';
import { Loaded } from '../../kit/loaded.tsx';
import { SearchInput } from '../../kit/search-input.tsx';
import { Segmented } from '../../kit/segmented.tsx';
import { SkeletonLines } from '../../kit/skeleton.tsx';
import { useModels } from '../models/queries.ts';

type ModelPickerProps = Readonly<{
  /** Null allows every model. */
  chosen: readonly string[] | null;
  onChange: (chosen: readonly string[] | null) => void;
  error?: string | undefined;
}>;

export function ModelPicker({ chosen, onChange, error }: ModelPickerProps) {
  const id = useId();
  return (
    <fieldset className="min-w-0" aria-describedby={error === undefined ? undefined : `${id}-error`}>
      <legend className="mb-1.5 text-[0.8125rem] font-medium">Allowed models</legend>
      <Segmented
        label="Which models the key may call"
        value={chosen === null ? 'all' : 'some'}
        options={[
          { value: 'all', label: 'Every model' },
          { value: 'some', label: 'Only these' },
        ]}
        onChange={(value) => onChange(value === 'all' ? null : [])}
      />
      {chosen !== null && <ModelChecklist chosen={chosen} onChange={onChange} />}
      {error !== undefined && (
        <p id={`${id}-error`} className="mt-1.5 text-xs font-medium text-bad">
          {error}
        </p>
      )}
    </fieldset>
  );
}

type ModelChecklistProps = Readonly<{
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}>;

function ModelChecklist({ chosen, onChange }: ModelChecklistProps) {
  const [words, setWords] = useState('');
  const models = useModels();
  const tick = (model: string, isChecked: boolean) =>
    onChange(isChecked ? [...chosen, model] : chosen.filter((other) => other !== model));
  return (
    <div className="mt-2 rounded-md border border-line">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line p-2">
        <SearchInput
          label="Search models"
          value={words}
          onSearch={setWords}
          className="min-w-0 flex-1 basis-40"
        />
        <span className="text-xs text-ink-faint" role="status">
          {chosen.length} chosen
        </span>
      </div>
      <div className="h-44 overflow-y-auto p-3">
        <Loaded query={models} skeleton={<SkeletonLines count={5} />}>
          {({ data }) => <Choices all={namesOf(data, chosen)} words={words} chosen={chosen} onTick={tick} />}
        </Loaded>
      </div>
    </div>
  );
}

/** A key may name models that are no longer offered. They stay in sight, so that they can be taken away. */
function namesOf(models: readonly Readonly<{ id: string }>[], chosen: readonly string[]): readonly string[] {
  return [...new Set([...models.map(({ id }) => id), ...chosen])].toSorted();
}

type ChoicesProps = Readonly<{
  all: readonly string[];
  words: string;
  chosen: readonly string[];
  onTick: (model: string, isChecked: boolean) => void;
}>;

function Choices({ all, words, chosen, onTick }: ChoicesProps) {
  const found = all.filter((model) => model.toLowerCase().includes(words.toLowerCase()));
  if (found.length === 0) return <p className="text-ink-soft">No model has this in its ID.</p>;
  return (
    <ul className="space-y-2">
      {found.map((model) => (
        <li key={model}>
          <Checkbox
            label={<span className="font-mono text-[0.8125rem] wrap-anywhere">{model}</span>}
            isChecked={chosen.includes(model)}
            onChange={(isChecked) => onTick(model, isChecked)}
          />
        </li>
      ))}
    </ul>
  );
}
