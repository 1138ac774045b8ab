/** Which model and which key the playground uses: a pair that works together, whenever there is one. */
import type { Key } from '../../../src/console/contract.ts';
import type { ListedModel } from '../models/models.ts';

type CandidateKey = Pick<Key, 'id' | 'allowed_models'>;
type CandidateModel = Pick<ListedModel, 'id' | 'workload'>;

/** The IDs that were asked for. An empty or unknown one leaves the choice to the playground. */
export type Wanted = Readonly<{ model: string; key: string }>;

export function mayCall(key: Pick<Key, 'allowed_models'>, model: string): boolean {
  return key.allowed_models?.includes(model) ?? true;
}

/** The model decides: a key that may not call it gives way. Undefined if there is no key or no model. */
export function selectPair<SomeKey extends CandidateKey, SomeModel extends CandidateModel>(
  keys: readonly SomeKey[],
  models: readonly SomeModel[],
  wanted: Wanted,
): Readonly<{ key: SomeKey | undefined; model: SomeModel | undefined }> {
  const wantedKey = keys.find(({ id }) => id === wanted.key);
  const model =
    models.find(({ id }) => id === wanted.model) ??
    (wantedKey === undefined ? undefined : firstFor([wantedKey], models)) ??
    firstFor(keys, models) ??
    models[0];
  if (model === undefined) return { key: wantedKey ?? keys[0], model };
  const able = keys.filter((key) => mayCall(key, model.id));
  return { key: able.find((key) => key === wantedKey) ?? able[0] ?? wantedKey ?? keys[0], model };
}

/** The first model that one of these keys may call, a chat model if possible. */
function firstFor<SomeModel extends CandidateModel>(
  keys: readonly CandidateKey[],
  models: readonly SomeModel[],
): SomeModel | undefined {
  const callable = models.filter(({ id }) => keys.some((key) => mayCall(key, id)));
  return callable.find(({ workload }) => workload === 'chat') ?? callable[0];
}
