/** The document for people: one page of HTML, made from the same object that /openapi.json shows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootFolder } from '../../lib/root-folder.ts';
import type { OpenApiDocument } from '../document.ts';
import type { ErrorRow } from '../responses.ts';
import { inline, plain, type Section, sections } from './markup.ts';
import { methodBadge, type Operation, operationSection } from './operation.ts';

const shell = readFileSync(join(rootFolder, 'dashboard/docs.html'), 'utf8');

type Entry = Readonly<{ method: string; path: string; operation: Operation }>;

export function renderPage(document: OpenApiDocument, origin: string): string {
  const { info, components } = document;
  const parts = sections(info.description);
  const entries: Entry[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const slots: Readonly<Record<string, string>> = {
    version: plain(info.version),
    summary: plain(info.summary),
    navigation: navigation(parts, entries),
    introduction: parts.map(introductionSection).join('\n'),
    endpoints: entries
      .map(({ method, path, operation }) =>
        operationSection(operation, { method, path, origin }, components.schemas),
      )
      .join('\n'),
    errors: document['x-errors'].map(errorTableRow).join('\n'),
  };
  return shell.replace(/<!-- (\w+) -->/g, (_, name: string) => slots[name] ?? '');
}

function navigation(parts: readonly Section[], entries: readonly Entry[]): string {
  const general = parts
    .filter(({ title }) => title !== '')
    .map(({ anchor, title }) => `<li><a href="#${anchor}">${plain(title)}</a></li>`);
  const endpoints = entries.map(
    ({ method, operation: { operationId, summary } }) =>
      `<li><a href="#${plain(operationId)}">${methodBadge(method)} ${plain(summary)}</a></li>`,
  );
  return `<p>Basics</p><ul>${general.join('')}</ul>
<p>Endpoints</p><ul>${endpoints.join('')}</ul>
<p>Reference</p><ul><li><a href="/docs/clients">Guides</a></li><li><a href="#errors">All errors</a></li><li><a href="/openapi.json">openapi.json</a></li><li><a href="/">Dashboard</a></li></ul>`;
}

function introductionSection({ anchor, title, html }: Section): string {
  const heading = title === '' ? '' : `<h2><a href="#${anchor}">${plain(title)}</a></h2>`;
  return `<section class="general" id="${anchor}">${heading}${html}</section>`;
}

/** Where a code occurs: as a status, in a stream, or both; one with neither is the outcome of a Generation. */
function errorTableRow({ code, status, in_band: inBand, type, retryable, message }: ErrorRow): string {
  const where = [...(status === null ? [] : [`${status}`]), ...(inBand ? ['stream'] : [])];
  return `<tr id="error-${code}">
<td data-label="Where">${where.length === 0 ? 'outcome' : where.join(', ')}</td>
<td data-label="Code"><code>${code}</code></td>
<td data-label="Type"><code>${type}</code></td>
<td data-label="Retry"><span class="retry ${retryable}">${retryable}</span></td>
<td data-label="Meaning">${inline(message)}</td>
</tr>`;
}
