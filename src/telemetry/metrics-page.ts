/** Serves the metrics: on their own port, or on the gateway's to those who present the token. */
import { timingSafeEqual } from 'node:crypto';
import { ApiError } from '../errors.ts';
import type { Handler } from '../http/context.ts';
import { OperatorError } from '../lib/operator-error.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { addGauges } from './gauges.ts';

export type MetricsPage = Readonly<{
  show: () => Promise<Response>;
  /** Null without a token. */
  forToken: Handler | null;
  close: () => void;
}>;

export function openMetricsPage(
  metrics: GatewayMetrics,
  token: string | null,
  sources: Parameters<typeof addGauges>[1],
): MetricsPage {
  const gauges = addGauges(metrics, sources);

  async function show(): Promise<Response> {
    await gauges.refresh();
    return new Response(metrics.render(), {
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    });
  }

  async function showTo(request: Request, expected: string): Promise<Response> {
    requireToken(request, expected);
    return await show();
  }

  return {
    show,
    forToken: token === null ? null : (request) => showTo(request, token),
    close: gauges.close,
  };
}

function requireToken({ headers }: Request, token: string): void {
  const given = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? '';
  if (timingSafeEqual(digest(given), digest(token))) return;
  throw new ApiError('invalid_api_key', { message: 'Send the metrics token as: Authorization: Bearer …' });
}

/** Both get the same length, which the comparison requires. */
function digest(text: string): Buffer {
  return new Bun.CryptoHasher('sha256').update(text).digest();
}

/** Returns a function that closes the port. It stays open while the gateway drains. */
export function listenForMetrics(hostname: string, port: number, { show }: MetricsPage): () => Promise<void> {
  try {
    const server = Bun.serve({
      hostname,
      port,
      reusePort: false,
      development: false,
      routes: { '/metrics': { GET: show } },
      fetch: () => new Response('This port serves only /metrics.\n', { status: 404 }),
    });
    return () => server.stop(true);
  } catch (error) {
    throw new OperatorError(`METRICS_PORT ${port} cannot be opened.`, { cause: error });
  }
}
