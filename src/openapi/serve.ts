/** The document and its page, as the gateway serves them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pageHeaders, readingPolicy } from '../http/security-headers.ts';
import { rootFolder } from '../lib/root-folder.ts';

const style = readFileSync(join(rootFolder, 'dashboard/docs.css'), 'utf8');

type ReferencePages = Readonly<{
  showDocument: () => Promise<Response>;
  showPage: () => Promise<Response>;
  showStyle: () => Response;
}>;

/**
 * Both are made once, while the gateway starts. They are imported dynamically, because the command line loads the routes
 * too and has no use for them.
 */
export function referencePages(origin: () => string): ReferencePages {
  const made = make();
  const sent = (text: string, type: string) =>
    new Response(text, {
      headers: { ...pageHeaders(readingPolicy, origin()), 'content-type': `${type}; charset=utf-8` },
    });
  let page: string | null = null;
  return {
    showDocument: async () => sent((await made).text, 'application/json'),
    // The gateway knows its own address only once it is listening.
    showPage: async () => {
      page ??= (await made).render(origin());
      return sent(page, 'text/html');
    },
    showStyle: () => sent(style, 'text/css'),
  };
}

async function make() {
  const [{ createDocument }, { renderPage }] = await Promise.all([
    import('./document.ts'),
    import('./page/page.ts'),
  ]);
  const document = createDocument();
  return { text: JSON.stringify(document), render: (at: string) => renderPage(document, at) };
}
