/** The document, its page and the guides, as the gateway serves them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prefersPage } from '../http/accept.ts';
import { pathOf } from '../http/path.ts';
import { pageHeaders, readingPolicy } from '../http/security-headers.ts';
import { rootFolder } from '../lib/root-folder.ts';

const style = readFileSync(join(rootFolder, 'dashboard/docs.css'), 'utf8');

type ReferencePages = Readonly<{
  showDocument: () => Promise<Response>;
  /** The text of the document with the admin API, which is not for the public. */
  adminDocument: () => Promise<string>;
  showPage: () => Promise<Response>;
  /** Browsers get a page even when there is no such guide; for other clients the result is then null. */
  showGuide: (request: Request) => Promise<Response | null>;
  showStyle: () => Promise<Response>;
}>;

/** Making the pages would delay the start, and the first reader should not have to wait for it either. */
const madeAfterMs = 3_000;

/**
 * `fontRules` are put before the style; without them the reader's own fonts are used. The pages are made once. They are imported dynamically, because most processes have no use for them.
 */
export function referencePages(origin: () => string, fontRules: () => Promise<string>): ReferencePages {
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
  let page: string | null = null;
  let adminText: string | null = null;
  return {
    showDocument: async () => sent((await made()).text, 'application/json'),
    adminDocument: async () => {
      const { createAdminDocument } = await import('./admin/document.ts');
      adminText ??= JSON.stringify(createAdminDocument());
      return adminText;
    },
    // The gateway knows its own address only once it is listening.
    showPage: async () => {
      page ??= (await made()).render(origin());
      return sent(page, 'text/html');
    },
    showGuide: async (request) => {
      const { guides } = await made();
      const guide = guides.page(pathOf(request.url).slice('/docs/'.length));
      if (guide !== null) return sent(guide, 'text/html');
      return prefersPage(request.headers.get('accept')) ? sent(guides.missing(), 'text/html', 404) : null;
    },
    showStyle: async () => sent(`${await fontRules().catch(() => '')}${style}`, 'text/css'),
  };
}

async function make() {
  const [{ createDocument }, { renderPage }, { readGuides }] = await Promise.all([
    import('./document.ts'),
    import('./page/page.ts'),
    import('./guides.ts'),
  ]);
  const document = createDocument();
  const render = (at: string) => renderPage(document, at);
  return { text: JSON.stringify(document), render, guides: readGuides() };
}
