import type { CatalogStatus } from '../../../../src/console/operator-contract.ts';

export type CatalogModel = CatalogStatus['models'][number];

export const shownModels = ['all', 'callable', 'not-callable'] as const;
type ShownModels = (typeof shownModels)[number];

/** By a part of the ID, the name or a provider. */
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
