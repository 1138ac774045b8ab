/** The catalogue that is in force on this node. */
import type { SQL } from 'bun';
import { readQuery } from '../../http/query.ts';
import { hasEndpoint } from '../../models/access.ts';
import type { CatalogStatus as StoreStatus } from '../../models/catalog-store.ts';
import type { Catalog, Model } from '../../models/model.ts';
import { soldBelowCostIn } from '../../models/review.ts';
import type { ActiveCatalog, FollowedCatalog } from '../../routing/active-catalog.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { CatalogStatus } from '../operator-contract.ts';

/** A file that is wrong throughout has a problem on each line; the first ones are enough to start with. */
const maxProblems = 20;
const maxWarnings = 100;

type CatalogServices = Readonly<{
  sql: SQL;
  catalog: () => ActiveCatalog;
  catalogFile: string;
  catalogStatus: FollowedCatalog['status'];
}>;

export function catalogPage(services: CatalogServices): Routes<ConsoleHandler> {
  const { sql, catalog, catalogFile, catalogStatus } = services;
  return {
    '/catalog': {
      GET: async (request, { signedIn }) => {
        readQuery(request.url, []);
        const accounts = await countAccounts(sql, signedIn);
        return Response.json(presentCatalog(catalogFile, catalogStatus(), catalog(), accounts));
      },
    },
  };
}

export function presentCatalog(
  file: string,
  { loadedAt, lastError }: StoreStatus,
  active: ActiveCatalog,
  accounts: ReadonlyMap<string, number>,
): CatalogStatus {
  const { catalog, connections } = active;
  return {
    file,
    price_version: catalog.priceVersion,
    loaded_at: loadedAt.toISOString(),
    digest: catalog.digest,
    error: lastError && { message: messageOf(lastError.problems), at: lastError.at.toISOString() },
    warnings: [...missingGroups(catalog, accounts), ...soldBelowCostIn(catalog)].slice(0, maxWarnings),
    price_groups: [...catalog.priceGroups].map(([name, { priceVersion }]) => ({
      name,
      price_version: priceVersion,
      accounts: accounts.get(name) ?? 0,
    })),
    providers: catalog.providers.size,
    models: [...catalog.models.values()].map((model) => {
      const reason = reasonAgainst(model, active);
      return {
        id: model.id,
        name: model.name,
        workload: model.workload,
        is_enabled: model.enabled,
        is_callable: reason === null,
        reason,
        providers: model.routes.map(({ providerId }) => ({
          id: providerId,
          is_configured: connections.has(providerId),
        })),
      };
    }),
  };
}

/** How many accounts each price group has. */
export async function countAccounts(sql: SQL, reader: OperatorReader): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<Found<{ name: string; accounts: number }, 'name'>[]>`
    select counted.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select price_group as name, count(*)::int as accounts from accounts where price_group is not null group by 1
    ) as counted on true`;
  return new Map(rowsForOperator(rows, 'name').map(({ name, accounts }) => [name, accounts]));
}

function missingGroups({ priceGroups }: Catalog, accounts: ReadonlyMap<string, number>): readonly string[] {
  return [...accounts]
    .filter(([name]) => !priceGroups.has(name))
    .map(
      ([name, count]) =>
        `${count === 1 ? '1 account is' : `${count} accounts are`} in the price group ${name}, which the catalogue does not have: their requests are refused.`,
    );
}

/** The rules of models/access.ts, in words for the operator who can fix it. */
function reasonAgainst(model: Model, { catalog, connections, keyProblems }: ActiveCatalog): string | null {
  if (!model.enabled) return 'It is disabled.';
  if (!hasEndpoint(model)) return `No endpoint serves ${model.workload} models.`;
  if (model.price === null) return 'It has no price.';
  if (model.routes.length === 0) return 'No provider serves it.';
  if (model.routes.some(({ providerId }) => connections.has(providerId))) return null;
  const reasons = model.routes.map(
    ({ providerId }) =>
      keyProblems.get(providerId)?.text ?? `${catalog.providers.get(providerId)?.apiKeyEnv} is not set.`,
  );
  return reasons.join(' ');
}

function messageOf(problems: readonly string[]): string {
  const rest = problems.length - maxProblems;
  const shown = problems.slice(0, maxProblems).join('\n');
  return rest > 0 ? `${shown}\nand ${rest} more` : shown;
}
