/** With which model, and by which key. */
import type { Key } from '../../../src/console/contract.ts';
import { Field, Select } from '../../kit/field.tsx';
import type { ListedModel } from '../models/models.ts';

type ChoosersProps = Readonly<{
  models: readonly ListedModel[];
  keys: readonly Key[];
  model: ListedModel | undefined;
  apiKey: Key | undefined;
  onModel: (id: string) => void;
  onKey: (id: string) => void;
}>;

export function Choosers({ models, keys, model, apiKey, onModel, onKey }: ChoosersProps) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label="Model">
        <Select value={model?.id ?? ''} onChange={(event) => onModel(event.target.value)}>
          {models.map(({ id, name }) => (
            <option key={id} value={id} disabled={!mayCall(apiKey, id)}>
              {name === id ? id : `${name} (${id})`}
            </option>
          ))}
        </Select>
      </Field>
      <Field label="Key that pays">
        <Select value={apiKey?.id ?? ''} onChange={(event) => onKey(event.target.value)}>
          {keys.map(({ id, name, hint }) => (
            <option key={id} value={id}>
              {`${name} (${hint})`}
            </option>
          ))}
        </Select>
      </Field>
    </div>
  );
}

export function mayCall(key: Key | undefined, model: string): boolean {
  return key?.allowed_models?.includes(model) ?? true;
}

/** Keys that the gateway accepts at this moment. */
export function inForce(keys: readonly Key[]): readonly Key[] {
  return keys.filter(({ state }) => state === 'active' || state === 'replaced');
}
