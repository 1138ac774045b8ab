import type { Catalog, Provider } from '../models/model.ts';

/** Where a provider is reached and with what. The key never leaves the headers of a call to that provider. */
export type ProviderConnection = Readonly<{ provider: Provider; baseUrl: string; apiKey: string | null }>;

/** The providers that can be called: those whose key is in the environment, or that need none. */
export function connectProviders(
  catalog: Catalog,
  secret: (name: string) => string | null,
  sandboxUrl: string | null,
): ReadonlyMap<string, ProviderConnection> {
  const connections = new Map<string, ProviderConnection>();
  for (const provider of catalog.providers.values()) {
    const baseUrl = provider.adapter === 'sandbox' ? sandboxUrl : provider.baseUrl;
    const apiKey =
      provider.adapter === 'sandbox'
        ? 'sandbox'
        : provider.apiKeyEnv === null
          ? null
          : secret(provider.apiKeyEnv);
    const isConfigured = apiKey !== null || provider.apiKeyEnv === null;
    if (baseUrl !== null && isConfigured) connections.set(provider.id, { provider, baseUrl, apiKey });
  }
  return connections;
}
