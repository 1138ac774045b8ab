/** Which providers have prices of their own for cached input. */
import type { CacheField } from '../pricing/present.ts';
import type { ModelRoute, Provider } from './model.ts';

const reads: readonly CacheField[] = ['cache_read'];
const readsAndWrites: readonly CacheField[] = ['cache_read', 'cache_write'];

/** By host, for servers that speak OpenAI's format. OpenAI itself is below. */
const vendors: readonly (readonly [host: string, prices: readonly CacheField[]])[] = [
  ['deepseek.com', reads],
  ['x.ai', reads],
  ['mistral.ai', reads],
  ['groq.com', reads],
  ['moonshot.ai', reads],
  ['moonshot.cn', reads],
  ['volces.com', reads],
  ['z.ai', reads],
  ['bigmodel.cn', reads],
  // Writes cost more when a request marks what to cache.
  ['aliyuncs.com', readsAndWrites],
];

/** The cache prices that the provider of a route has, as far as is known. */
export function cachePricesOf(
  { adapter, baseUrl }: Provider,
  { upstreamModel }: ModelRoute,
): readonly CacheField[] {
  if (adapter === 'anthropic') return ['cache_read', 'cache_write', 'cache_write_long'];
  if (adapter === 'google') return reads;
  if (adapter !== 'openai' || baseUrl === null) return [];
  const { hostname } = new URL(baseUrl);
  const isAt = (host: string) => hostname === host || hostname.endsWith(`.${host}`);
  if (isAt('openai.com')) return writesCostMore(upstreamModel) ? readsAndWrites : reads;
  return vendors.find(([host]) => isAt(host))?.[1] ?? [];
}

/** OpenAI charges for writes from GPT-5.6 on. */
function writesCostMore(model: string): boolean {
  const [, major = '0', minor = '0'] = /^gpt-(\d+)(?:\.(\d+))?(?![\d.o])/.exec(model) ?? [];
  return Number(major) > 5 || (Number(major) === 5 && Number(minor) >= 6);
}
