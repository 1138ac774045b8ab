import type { Catalog, Provider } from '../models/model.ts';
import { readProviderKey, type Secret } from '../models/provider-key.ts';
import type { Calls, Link } from '../providers/call.ts';
import { ConnectWatchdog } from '../providers/connect-watchdog.ts';
import { imageAdapters } from '../providers/image-call.ts';
import type { ImageAdapter } from '../providers/images.ts';

/** Where and how a provider is reached. The key goes nowhere but into the headers of calls to that provider. */
export type ProviderConnection = Readonly<{
  provider: Provider;
  baseUrl: string;
  apiKey: string | null;
  link: Link;
  /** Null when its format has no images. */
  images: ImageAdapter | null;
}>;

/** What it takes to reach providers. */
export type Surroundings = Readonly<{
  secret: Secret;
  /** Whether calls leave through a proxy that the environment names. */
  isProxied: boolean;
  calls: Calls;
}>;

/** The providers that can be called: those whose key is in the environment or that need none. */
export function connectProviders(
  catalog: Catalog,
  { secret, isProxied, calls }: Surroundings,
  sandboxUrl: string | null,
): ReadonlyMap<string, ProviderConnection> {
  const connections = new Map<string, ProviderConnection>();
  for (const provider of catalog.providers.values()) {
    const isSandbox = provider.adapter === 'sandbox';
    const baseUrl = isSandbox ? sandboxUrl : provider.baseUrl;
    const { apiKeyEnv, name } = provider;
    const ownKey = apiKeyEnv === null ? null : readProviderKey(apiKeyEnv, name, secret).key;
    const apiKey = isSandbox ? 'sandbox' : ownKey;
    const isConfigured = apiKey !== null || apiKeyEnv === null;
    if (baseUrl === null || !isConfigured) continue;
    const watchdog = new ConnectWatchdog(baseUrl, !isProxied);
    const link = { calls, watchdog, timeouts: provider.timeouts };
    const images = imageAdapters[provider.adapter];
    connections.set(provider.id, { provider, baseUrl, apiKey, link, images });
  }
  return connections;
}
