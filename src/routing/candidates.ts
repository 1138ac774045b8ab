import { ApiError } from '../errors.ts';
import type { Model } from '../models/model.ts';
import type { ActiveCatalog } from './active-catalog.ts';
import type { ProviderConnection } from './connections.ts';

/** One way to serve a request: a provider that can be called and what it calls the model. */
export type Candidate = Readonly<{ connection: ProviderConnection; upstreamModel: string }>;

/** The providers of a model that can be called, at least one, in the order of the catalogue. */
export function candidatesFor(model: Model, { connections }: ActiveCatalog): readonly Candidate[] {
  const candidates = model.routes.flatMap(({ providerId, upstreamModel }) => {
    const connection = connections.get(providerId);
    return connection ? [{ connection, upstreamModel }] : [];
  });
  if (candidates.length === 0) throw new ApiError('provider_not_configured');
  return candidates;
}
