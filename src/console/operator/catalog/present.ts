import type { CatalogStatus as StoreStatus } from '../../../models/catalog-store.ts';
import type { Model } from '../../../models/model.ts';
import type { ActiveCatalog } from '../../../routing/active-catalog.ts';
import type { CatalogStatus } from '../../operator-contract.ts';

/** A file that is wrong throughout has a problem for each line; the first ones are enough to begin with. */
const mostProblems = 20;

export function presentCatalog(
  file: string,
  { loadedAt, lastError }: StoreStatus,
  { catalog, connections }: Pick<ActiveCatalog, 'catalog' | 'connections'>,
): CatalogStatus {
  const isConfigured = (providerId: string) => connections.has(providerId);
  return {
    file,
    price_version: catalog.priceVersion,
    loaded_at: loadedAt.toISOString(),
    digest: catalog.digest,
    error: lastError && { message: messageOf(lastError.problems), at: lastError.at.toISOString() },
    providers: catalog.providers.size,
    models: [...catalog.models.values()].map((model) => {
      const reason = reasonAgainst(model, isConfigured);
      return {
        id: model.id,
        name: model.name,
        workload: model.workload,
        is_enabled: model.enabled,
        is_callable: reason === null,
        reason,
        providers: model.routes.map(({ providerId }) => ({
          id: providerId,
          is_configured: isConfigured(providerId),
        })),
      };
    }),
  };
}

/** The rules of models/access.ts, in words for whoever can mend it. */
function reasonAgainst(model: Model, isConfigured: (providerId: string) => boolean): string | null {
  if (!model.enabled) return 'It is disabled.';
  if (model.price === null) return 'It has no price.';
  if (model.routes.length === 0) return 'No provider serves it.';
  if (!model.routes.some(({ providerId }) => isConfigured(providerId)))
    return 'None of its providers has its key.';
  return null;
}

function messageOf(problems: readonly string[]): string {
  const rest = problems.length - mostProblems;
  const shown = problems.slice(0, mostProblems).join('\n');
  return rest > 0 ? `${shown}\nand ${rest} more` : shown;
}
