/** The pages of docs/ that are for customers and operators, as HTML. Errors link to their sections. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootFolder } from '../lib/root-folder.ts';
import { plain } from './page/markup.ts';

/** In the order in which they are listed. */
const sections = [
  {
    title: 'Guides',
    names: [
      'clients',
      'chat',
      'responses',
      'messages',
      'images',
      'generations',
      'usage',
      'attribution',
      'idempotency',
      'errors',
      'keys',
      'limits',
      'grants',
      'events',
      'token-bounds',
      'decisions',
      'reports',
      'sandbox',
    ],
  },
  {
    title: 'For operators',
    names: [
      'deployment',
      'operator-pages',
      'admin',
      'exports',
      'catalog',
      'payments',
      'reconciliation',
      'importing',
      'sign-in',
      'alerts',
    ],
  },
] as const;

/** The page of the dashboard that has what a guide speaks of. */
const places: ReadonlyMap<string, readonly [path: string, name: string]> = new Map([
  ['clients', ['/keys', 'Keys']],
  ['chat', ['/playground', 'Playground']],
  ['responses', ['/models', 'Models']],
  ['messages', ['/models', 'Models']],
  ['images', ['/playground', 'Playground']],
  ['generations', ['/requests', 'Requests']],
  ['usage', ['/usage', 'Usage']],
  ['attribution', ['/requests', 'Requests']],
  ['errors', ['/requests', 'Requests']],
  ['keys', ['/keys', 'Keys']],
  ['limits', ['/limits', 'Limits']],
  ['grants', ['/billing?tab=credit', 'Billing']],
  ['events', ['/webhooks', 'Webhooks']],
  ['decisions', ['/decisions', 'Decisions']],
  ['reports', ['/billing', 'Billing']],
  ['operator-pages', ['/operator', 'Operator']],
  ['admin', ['/operator/tokens', 'Admin tokens']],
  ['exports', ['/billing?tab=entries', 'Billing']],
  ['catalog', ['/operator/catalog', 'Catalogue']],
  ['payments', ['/operator/payments', 'Payments']],
  ['reconciliation', ['/operator/reconciliation', 'Reconciliation']],
  ['sign-in', ['/team', 'Team']],
]);

export const guideNames: readonly string[] = sections.flatMap(({ names }) => names);

type Guides = Readonly<{
  /** Null when there is no guide of this name. */
  page: (name: string) => string | null;
  /** For an address without a guide. */
  missing: () => string;
}>;

/** The files are read here, after the gateway has started, and rendered when they are first asked for. */
export function readGuides(): Guides {
  const shell = readFileSync(join(rootFolder, 'dashboard/guide.html'), 'utf8');
  const texts = new Map<string, string>(
    guideNames.map((name) => [name, readFileSync(join(rootFolder, 'docs', `${name}.md`), 'utf8')]),
  );
  const rendered = new Map<string, string>();
  return {
    page: (name) => {
      const text = texts.get(name);
      if (text === undefined) return null;
      const page = rendered.get(name) ?? renderGuide(shell, text, texts, places.get(name));
      rendered.set(name, page);
      return page;
    },
    missing: () => renderGuide(shell, missingText, texts),
  };
}

const missingText = `# Page not found

There is no guide at this address. The guides are listed in the contents of this page, and the API is described in the
[API reference](/docs).
`;

function renderGuide(
  shell: string,
  text: string,
  texts: ReadonlyMap<string, string>,
  place?: readonly [path: string, name: string],
): string {
  const content = renderMarkdown(text, (name) => titleOf(texts.get(name) ?? ''));
  const slots: Readonly<Record<string, string>> = {
    title: plain(titleOf(text)),
    navigation: navigation(texts),
    content: place === undefined ? content : content.replace('</h1>', () => `</h1>${placeOf(place)}`),
  };
  return shell.replace(/<!-- (\w+) -->/g, (_, name: string) => slots[name] ?? '');
}

function placeOf([path, name]: readonly [string, string]): string {
  return `<p class="place">In the dashboard: <a href="${path}">${name}</a></p>`;
}

function navigation(texts: ReadonlyMap<string, string>): string {
  const lists = sections.map(({ title, names }) => {
    const items = names.map(
      (name) => `<li><a href="/docs/${name}">${plain(titleOf(texts.get(name) ?? ''))}</a></li>`,
    );
    return `<p>${title}</p><ul>${items.join('')}</ul>`;
  });
  return `${lists.join('\n')}
<p>Reference</p><ul><li><a href="/docs">API reference</a></li><li><a href="/">Dashboard</a></li></ul>`;
}

function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? '';
}

/** Short enough to fit on any line, so that it need not be broken. */
const shortCode = /<code>([^<>]{1,24})<\/code>/g;

/**
 * HTML in the text is shown as text, and images are left out. A link that is labelled with the name of its file gets the
 * title of that page instead.
 */
export function renderMarkdown(text: string, titleOfPage: (name: string) => string = () => ''): string {
  const html = Bun.markdown.html(text, { noHtmlBlocks: true, noHtmlSpans: true, headings: { ids: true } });
  return (
    html
      .replaceAll(/<img [^>]*>/g, '')
      // Both scroll sideways where there is little room, which must be possible by keyboard.
      .replaceAll(/<(pre|table)>/g, '<$1 tabindex="0">')
      .replaceAll(/<table.*?<\/table>/gs, labelCells)
      .replaceAll(shortCode, '<code class="short">$1</code>')
      .replaceAll(/<a href="([^"]*)"[^>]*>(.*?)<\/a>/gs, (_, target: string, label: string) => {
        const address = addressOf(target);
        const [, file = ''] = /^([\w-]+)\.md$/.exec(label) ?? [];
        const shown = plain(titleOfPage(file)) || label;
        return address === null ? shown : `<a href="${address}">${shown}</a>`;
      })
  );
}

/** Each cell has the header of its column, which a phone shows before it: there a row is a block. */
function labelCells(table: string): string {
  const heads = [...table.matchAll(/<th(?: [^>]*)?>(.*?)<\/th>/gs)].map(([, head = '']) =>
    head.replaceAll(/<[^>]*>/g, ''),
  );
  return table.replaceAll(/<tr>.*?<\/tr>/gs, (row) => {
    let column = 0;
    return row.replaceAll('<td', (cell) => {
      const head = heads[column] ?? '';
      column += 1;
      return head === '' ? cell : `${cell} data-label="${head}"`;
    });
  });
}

/** Where a link leads on this gateway; null for pages that it does not serve, and for anything that is not a page. */
function addressOf(target: string): string | null {
  if (/^(?:#|\/docs(?:[#/]|$)|https:\/\/)/.test(target)) return target;
  const [, name = '', anchor = ''] = /^([\w-]+)\.md(#[\w-]+)?$/.exec(target) ?? [];
  return guideNames.includes(name) ? `/docs/${name}${anchor}` : null;
}
