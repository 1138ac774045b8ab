import type { Catalog, Provider } from '../models/model.ts';
import { chatAdapter } from '../providers/chat-call.ts';

/** Where a provider is reached and with what. The key never leaves the headers of a call to that provider. */
export type ProviderConnection = Readonly<{ provider: Provider; baseUrl: string; apiKey: string | null }>;

/** The providers that can be called: whose format is spoken, and whose key is in the environment or not needed. */
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
    const isConfigured = isSpoken(provider.adapter) && (apiKey !== null || provider.apiKeyEnv === null);
    if (baseUrl !== null && isConfigured) connections.set(provider.id, { provider, baseUrl, apiKey });
  }
  return connections;
}

function isSpoken(adapter: Provider['adapter']): boolean {
  return chatAdapter(adapter) !== null;
}
