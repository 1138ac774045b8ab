/** What a browser sees at the gateway's address. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dir, '../dashboard');
const page = readFileSync(join(folder, 'start.html'), 'utf8');
const style = readFileSync(join(folder, 'start.css'), 'utf8');

const safetyHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** `origin` is the gateway's own word for its address: what a client put into its Host header is not repeated. */
export function startPage(origin: () => string): () => Response {
  return () =>
    new Response(
      page.replace('<span data-origin></span>', () => Bun.escapeHTML(origin())),
      {
        headers: { ...safetyHeaders, 'content-type': 'text/html; charset=utf-8' },
      },
    );
}

export function showStartStyle(): Response {
  return new Response(style, { headers: { ...safetyHeaders, 'content-type': 'text/css; charset=utf-8' } });
}
