/** What the pages show of figures: how it is read, and how it should be written. */
import type { Page } from 'playwright-core';
import { formatMoney, formatSmallTotal, formatTotal } from '../../dashboard/kit/amounts.ts';
import {
  formatCount,
  formatCountShort,
  formatDuration,
  formatEstimate,
  formatShare,
} from '../../dashboard/kit/format-figures.ts';
import { changeOf, formatChange, formatPoints } from '../../dashboard/pages/requests/figures.ts';
import type { RequestFigures } from '../../src/console/request-contract.ts';
import { countOf } from './plain-figures.ts';

/** A table whose rows have been loaded. */
async function loadedTable(page: Page, name: string | RegExp) {
  const table = page.getByRole('table', { name, exact: true }).and(page.locator(':not([aria-busy])')).first();
  await table.locator('tbody tr td').first().waitFor({ state: 'attached' });
  return table;
}

/** The texts of a table, by the headers of their columns; of a header that occurs twice, the first. */
export async function tableOf(page: Page, name: string | RegExp): Promise<Record<string, string>[]> {
  const table = await loadedTable(page, name);
  type Row = Readonly<{ cells: Iterable<Readonly<{ innerText: string }>> }>;
  const [headers = [], ...rows] = await table
    .locator('tr')
    .evaluateAll((all) =>
      all.map((row) => [...(row as unknown as Row).cells].map(({ innerText }) => innerText.trim())),
    );
  return rows.map((cells) => {
    const named = cells.map((cell, at) => [headers[at] ?? '', cell] as const);
    return Object.fromEntries(named.toReversed());
  });
}

/** Every digit of the amounts in the rows of a table, of which many look alike in cents. */
export async function exactAmountsOf(page: Page, name: string): Promise<string[][]> {
  const table = await loadedTable(page, name);
  type Titled = Readonly<{ title: string }>;
  type Row = Readonly<{ querySelectorAll: (what: string) => Iterable<Titled> }>;
  const titles = await table
    .locator('tbody tr, tfoot tr')
    .evaluateAll((all) =>
      all.map((row) =>
        [...(row as unknown as Row).querySelectorAll('[title$=" USD"]')].map(({ title }) => title),
      ),
    );
  return titles.map((row) => row.map((title) => title.replace(/ USD$/, '')));
}

/** The figures with their labels, and what is said of each. */
export async function statsOf(page: Page): Promise<Record<string, string[]>> {
  // A request in progress looks as if it were still being loaded, so only the figures count.
  await page.locator('dl .animate-breathe').first().waitFor({ state: 'detached' });
  const texts = await page
    .locator('dl > div')
    .evaluateAll((all) =>
      all.map((one) => [
        (one as unknown as { querySelector: (what: string) => { textContent: string } })
          .querySelector('dt')
          .textContent.trim(),
        [
          ...(
            one as unknown as { querySelectorAll: (what: string) => Iterable<{ textContent: string }> }
          ).querySelectorAll('dd'),
        ].map(({ textContent }) => textContent.trim()),
      ]),
    );
  return Object.fromEntries((texts as [string, string[]][]).toReversed());
}

export const rateOf = (figures: RequestFigures) =>
  countOf(figures) === 0 ? null : (figures.failed + figures.refused) / countOf(figures);
export const successOf = ({ completed, failed }: RequestFigures) =>
  completed + failed === 0 ? null : completed / (completed + failed);
export const share = (value: number | null) => (value === null ? '–' : formatShare(value));
export const time = (ms: number | null) => (ms === null ? '–' : formatDuration(ms));
/** A percentile, which is known by its bucket alone. */
export const estimate = (ms: number | null) => (ms === null ? '–' : formatEstimate(ms));

/** `+12% from 8`, as the homes say it. */
function compared(now: number | null, earlier: number | null, words: string): string {
  const change = formatChange(changeOf(now, earlier));
  return change === null ? `${words} in the period before` : `${change} from ${words}`;
}

/** The figures at the top of a home. */
export function homeStats(now: RequestFigures, earlier: RequestFigures): Record<string, string[]> {
  const [rate, rateBefore] = [rateOf(now), rateOf(earlier)];
  const points = formatPoints(rate, rateBefore);
  return {
    Requests: [
      formatCount(countOf(now)),
      compared(countOf(now), countOf(earlier), formatCount(countOf(earlier))),
    ],
    'Error rate': [share(rate), `${points} from ${share(rateBefore)}`],
    'p95 duration': [
      estimate(now.duration_ms_p95),
      compared(now.duration_ms_p95, earlier.duration_ms_p95, estimate(earlier.duration_ms_p95)),
    ],
    Spend: [
      formatTotal(now.cost),
      compared(Number(now.cost), Number(earlier.cost), formatTotal(earlier.cost)),
    ],
  };
}

/** The totals beneath a chart. */
export function totalTexts(now: RequestFigures, earlier: RequestFigures): Record<string, string[]> {
  const change = (of: (figures: RequestFigures) => number | null) => {
    const text = formatChange(changeOf(of(now), of(earlier)));
    return text === null ? [] : [`against the period before: ${text}`];
  };
  const tokens = (figures: RequestFigures) => figures.input_tokens + figures.output_tokens;
  const points = formatPoints(rateOf(now), rateOf(earlier));
  return {
    Requests: [formatCount(countOf(now)), ...change(countOf)],
    'Error rate': [share(rateOf(now)), ...(points === null ? [] : [`against the period before: ${points}`])],
    p50: [estimate(now.duration_ms_p50), ...change((figures) => figures.duration_ms_p50)],
    p95: [estimate(now.duration_ms_p95), ...change((figures) => figures.duration_ms_p95)],
    Tokens: [formatCountShort(tokens(now)), ...change(tokens)],
    Cost: [formatSmallTotal(now.cost), ...change(({ cost }) => Number(cost))],
  };
}

const countText = (figures: RequestFigures) =>
  countOf(figures) === 1 ? '1 request' : `${formatCount(countOf(figures))} requests`;

/** What each chart says of a step, and of the same step of the period before. */
export const charts: readonly Readonly<{
  tab: string;
  label: string;
  of: (now: RequestFigures, earlier: RequestFigures) => Record<string, string>;
}>[] = [
  {
    tab: 'Volume',
    label: 'Requests over time',
    of: (now, earlier) => ({
      Completed: formatCount(now.completed),
      Cancelled: formatCount(now.cancelled),
      Refused: formatCount(now.refused),
      Failed: formatCount(now.failed),
      Total: countText(now),
      'Period before': countText(earlier),
    }),
  },
  {
    tab: 'Error rate',
    label: 'Error rate over time',
    of: (now, earlier) => ({
      'Failed or refused': share(rateOf(now)),
      'Period before': share(rateOf(earlier)),
    }),
  },
  {
    tab: 'p50/p95',
    label: 'Duration over time',
    of: (now, earlier) => ({
      p50: estimate(now.duration_ms_p50),
      p95: estimate(now.duration_ms_p95),
      'Period before': estimate(earlier.duration_ms_p95),
    }),
  },
  {
    tab: 'First token',
    label: 'Time to first token over time',
    of: (now, earlier) => ({
      p50: estimate(now.time_to_first_token_ms_p50),
      p95: estimate(now.time_to_first_token_ms_p95),
      'Period before': estimate(earlier.time_to_first_token_ms_p95),
    }),
  },
  {
    tab: 'Cost',
    label: 'Cost over time',
    of: (now, earlier) => ({ Cost: formatMoney(now.cost), 'Period before': formatMoney(earlier.cost) }),
  },
];

/** The columns of the tables of keys, models and providers. A provider has nothing to do with what was refused. */
export const groupTexts = (group: RequestFigures, isOfProvider: boolean) => ({
  Requests: formatCount(countOf(group)),
  Refused: formatCount(group.refused),
  ...(isOfProvider ? { Success: share(successOf(group)) } : { Errors: share(rateOf(group)) }),
  p50: estimate(group.duration_ms_p50),
  p95: estimate(group.duration_ms_p95),
  'First token': estimate(group.time_to_first_token_ms_p50),
  Cost: formatTotal(group.cost),
});
