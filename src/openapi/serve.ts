/** The document, its page and the guides, as the gateway serves them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prefersPage } from '../http/accept.ts';
import { pathOf } from '../http/path.ts';
import { pageHeaders, readingPolicy } from '../http/security-headers.ts';
import { rootFolder } from '../lib/root-folder.ts';
import { plain } from './page/markup.ts';

const style = readFileSync(join(rootFolder, 'dashboard/docs.css'), 'utf8');
const script = readFileSync(join(rootFolder, 'dashboard/docs.js'), 'utf8');

type ReferencePages = Readonly<{
  showDocument: () => Promise<Response>;
  /** The text of the document with the admin API, which is not for the public. */
  adminDocument: () => Promise<string>;
  showPage: () => Promise<Response>;
  /** Browsers get a page even when there is no such guide; for other clients the result is then null. */
  showGuide: (request: Request) => Promise<Response | null>;
  showStyle: () => Promise<Response>;
  showScript: () => Response;
}>;

/** Making the pages would delay the start, and the first reader should not have to wait for it either. */
const madeAfterMs = 3_000;

/**
 * The pages are made once. They are imported dynamically, because most processes have no use for them. Their examples name
 * the gateway's address. Where nobody has configured it, the script of the pages puts the one at which the reader has found
 * them: a Host header may be anyone's, and does not know of TLS. `fontRules` are put before the style; without them the reader's own fonts are used.
 */
export function referencePages(
  origin: () => string,
  publicUrl: string | null,
  fontRules: () => Promise<string>,
): ReferencePages {
  let making: ReturnType<typeof make> | null = null;
  const made = () => {
    making ??= make();
    return making;
  };
  // A failure is reported to the first request for a page.
  setTimeout(() => {
    made().catch(() => undefined);
  }, madeAfterMs).unref();
  const sent = (text: string, type: string, status = 200) =>
    new Response(text, {
      status,
      headers: { ...pageHeaders(readingPolicy, origin()), 'content-type': `${type}; charset=utf-8` },
    });
  const addressed = (html: string, status = 200) =>
    sent(
      publicUrl === null ? replaceable(html, origin()) : withAddress(html, publicUrl),
      'text/html',
      status,
    );
  let adminText: string | null = null;
  return {
    showDocument: async () => sent((await made()).text, 'application/json'),
    adminDocument: async () => {
      const { createAdminDocument } = await import('./admin/document.ts');
      adminText ??= JSON.stringify(createAdminDocument());
      return adminText;
    },
    showPage: async () => addressed((await made()).page()),
    showGuide: async (request) => {
      const { guides } = await made();
      const guide = guides.page(pathOf(request.url).slice('/docs/'.length));
      if (guide !== null) return addressed(guide);
      return prefersPage(request.headers.get('accept')) ? addressed(guides.missing(), 404) : null;
    },
    showStyle: async () => sent(`${await fontRules().catch(() => '')}${style}`, 'text/css'),
    showScript: () => sent(script, 'text/javascript'),
  };
}

async function make() {
  const [{ createDocument }, { renderPage }, { readGuides }] = await Promise.all([
    import('./document.ts'),
    import('./page/page.ts'),
    import('./guides.ts'),
  ]);
  const document = createDocument();
  let page: string | null = null;
  return {
    text: JSON.stringify(document),
    page: () => {
      page ??= renderPage(document, exampleAddress);
      return page;
    },
    guides: readGuides(),
  };
}

/** The gateway's address in docs/, and in a page before it is sent. */
const exampleAddress = 'http://127.0.0.1:8080';
/** How docs/ write it where only HTTPS makes sense. */
const exampleSecureAddress = 'https://gateway.example.com';

export function withAddress(html: string, address: string): string {
  const written = plain(address);
  const named = html.replaceAll(exampleAddress, () => written);
  return address.startsWith('https:') ? named.replaceAll(exampleSecureAddress, () => written) : named;
}

/** With the address for dashboard/docs.js, too. */
function replaceable(html: string, address: string): string {
  return withAddress(html, address).replace('<html', () => `<html data-address="${plain(address)}"`);
}
