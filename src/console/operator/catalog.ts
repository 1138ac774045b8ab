/** The catalogue that is in force on this node. */
import { readQuery } from '../../http/query.ts';
import { hasEndpoint } from '../../models/access.ts';
import type { CatalogStatus as StoreStatus } from '../../models/catalog-store.ts';
import type { Model } from '../../models/model.ts';
import type { ActiveCatalog, FollowedCatalog } from '../../routing/active-catalog.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { CatalogStatus } from '../operator-contract.ts';

/** A file that is wrong throughout has a problem on each line; the first ones are enough to start with. */
const maxProblems = 20;

type CatalogServices = Readonly<{
  catalog: () => ActiveCatalog;
  catalogFile: string;
  catalogStatus: FollowedCatalog['status'];
}>;

export function catalogPage(services: CatalogServices): Routes<ConsoleHandler> {
  const { catalog, catalogFile, catalogStatus } = services;
  return {
    '/catalog': {
      GET: async (request) => {
        readQuery(request.url, []);
        return Response.json(presentCatalog(catalogFile, catalogStatus(), catalog()));
      },
    },
  };
}

function presentCatalog(
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

/** The rules of models/access.ts, in words for the operator who can fix it. */
function reasonAgainst(model: Model, isConfigured: (providerId: string) => boolean): string | null {
  if (!model.enabled) return 'It is disabled.';
  if (!hasEndpoint(model)) return `No endpoint serves ${model.workload} models.`;
  if (model.price === null) return 'It has no price.';
  if (model.routes.length === 0) return 'No provider serves it.';
  if (!model.routes.some(({ providerId }) => isConfigured(providerId)))
    return 'No provider of this model has an API key set.';
  return null;
}

function messageOf(problems: readonly string[]): string {
  const rest = problems.length - maxProblems;
  const shown = problems.slice(0, maxProblems).join('\n');
  return rest > 0 ? `${shown}\nand ${rest} more` : shown;
}
