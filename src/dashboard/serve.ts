/** Serves the dashboard: one page for every path of the app, and the files that it loads. */
import { ApiError } from '../errors.ts';
import { acceptsBrotli, acceptsGzip, prefersPage } from '../http/accept.ts';
import type { Handler } from '../http/context.ts';
import { pathOf } from '../http/path.ts';
import { appPolicy, pageHeaders } from '../http/security-headers.ts';
import type { Log } from '../lib/log.ts';
import { openDashboard } from './open.ts';
import { isForPeople } from './paths.ts';

type Bytes = Uint8Array<ArrayBuffer>;
type Asset = Readonly<{
  type: string;
  bytes: Bytes;
  gzipped: Bytes | null;
  brotli: Bytes | null;
  tag: string;
}>;

const types = new Map([
  ['html', 'text/html; charset=utf-8'],
  ['js', 'text/javascript; charset=utf-8'],
  ['css', 'text/css; charset=utf-8'],
  ['svg', 'image/svg+xml'],
  ['woff2', 'font/woff2'],
]);

type DashboardPages = Readonly<{
  showApp: Handler;
  showAsset: Handler;
  /** For paths without a route. */
  showMissing: Handler;
  /** The rules that name the shipped fonts, for style sheets of other pages. */
  fontRules: () => Promise<string>;
}>;

/** Of what was built, not for browsers under this name. */
const unnamed = new Set(['index.html', 'fonts.css']);

/** Starts loading or building at once. Requests wait for it. `missing` makes the error for a path without a route. */
export function dashboardPages(
  origin: () => string,
  log: Log,
  missing: (method: string, path: string) => ApiError,
): DashboardPages {
  const opening = openDashboard(log).then(assetsOf);
  // The API must work even when the dashboard cannot be built: only requests for it fail.
  opening.catch((error: unknown) => log.error('dashboard not built', { error }));

  const headersOf = (asset: Asset) => ({ ...pageHeaders(appPolicy, origin()), 'content-type': asset.type });

  async function page(request: Request, status: 200 | 404): Promise<Response> {
    const asset = (await opening).get('index.html');
    if (asset === undefined) throw new ApiError('internal_error');
    const headers = { ...headersOf(asset), 'cache-control': 'no-cache', etag: asset.tag };
    if (status === 200 && isKnown(request, asset.tag)) return new Response(null, { status: 304, headers });
    return send(request, asset, headers, status);
  }

  return {
    showApp: (request) => page(request, 200),
    showAsset: async (request) => {
      const name = pathOf(request.url).slice('/assets/'.length);
      const asset = unnamed.has(name) ? undefined : (await opening).get(name);
      if (asset === undefined) throw new ApiError('not_found');
      const headers = { ...headersOf(asset), 'cache-control': 'public, max-age=31536000, immutable' };
      return send(request, asset, headers, 200);
    },
    showMissing: async (request) => {
      const path = pathOf(request.url);
      const isAskedByPerson =
        request.method === 'GET' && isForPeople(path) && prefersPage(request.headers.get('accept'));
      if (!isAskedByPerson) throw missing(request.method, path);
      return await page(request, 404);
    },
    fontRules: async () => new TextDecoder().decode((await opening).get('fonts.css')?.bytes),
  };
}

function assetsOf(files: ReadonlyMap<string, Bytes>): ReadonlyMap<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const [name, bytes] of files) {
    const type = types.get(name.split('.').at(-1) ?? '');
    if (type === undefined) continue;
    // Weak, because the compressed and the plain form have the same tag.
    const tag = `W/"${Bun.hash(bytes).toString(36)}"`;
    const [gzipped = null, brotli = null] = [files.get(`${name}.gz`), files.get(`${name}.br`)];
    assets.set(name, { type, bytes, gzipped, brotli, tag });
  }
  return assets;
}

function isKnown(request: Request, tag: string): boolean {
  const known = request.headers.get('if-none-match') ?? '';
  return known.split(',').some((word) => word.trim() === tag);
}

function send(
  request: Request,
  asset: Asset,
  headers: Readonly<Record<string, string>>,
  status: number,
): Response {
  const [encoding, bytes] = formOf(asset, request.headers.get('accept-encoding'));
  return new Response(bytes, {
    status,
    headers: {
      ...headers,
      ...(asset.gzipped === null ? {} : { vary: 'accept-encoding' }),
      ...(encoding === null ? {} : { 'content-encoding': encoding }),
    },
  });
}

/** The smallest form that the client takes. */
function formOf({ bytes, gzipped, brotli }: Asset, accepted: string | null): [string | null, Bytes] {
  if (brotli !== null && acceptsBrotli(accepted)) return ['br', brotli];
  if (gzipped !== null && acceptsGzip(accepted)) return ['gzip', gzipped];
  return [null, bytes];
}
