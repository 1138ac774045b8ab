/** What went wrong among the requests that are shown, by error code. Each code filters. */
import type { RequestFigures } from '../../../src/console/request-contract.ts';
import { useReplaceSearch } from '../../address.ts';
import { formatCount } from '../../kit/format-figures.ts';
import { useKeptFocus } from '../../kit/keep-focus.ts';
import { addFilterSelector } from './filter-bar.tsx';
import { useGroups } from './queries.ts';
import { canGroup, type View, withFilter } from './view.ts';

const maxShown = 8;

type ErrorCodesProps = Readonly<{ view: View; totals: Pick<RequestFigures, 'failed' | 'refused'> }>;

/** Not for filters by which nothing is added up, nor when one code is shown already. */
export function ErrorCodes({ view, totals }: ErrorCodesProps) {
  const isWanted = totals.failed + totals.refused > 0 && view.filters.every(({ name }) => canGroup(name));
  return isWanted && !view.filters.some(({ name }) => name === 'error_code') ? <Codes view={view} /> : null;
}

function Codes({ view }: Readonly<{ view: View }>) {
  const replace = useReplaceSearch();
  // The code that was pressed is a filter now.
  useKeptFocus(addFilterSelector);
  const groups = useGroups(view, 'error_code', 'error_code', 'errors');
  const codes = (groups.data?.data ?? []).flatMap(({ value, failed, refused }) =>
    value === null || failed + refused === 0 ? [] : [{ code: value, count: failed + refused, failed }],
  );
  if (codes.length === 0) return null;
  return (
    <section aria-label="Error codes">
      <ul className="flex gap-x-2 gap-y-1.5 text-xs max-md:-mx-4 scroll-px-12 max-md:overflow-x-auto max-md:px-4 md:flex-wrap">
        {codes.slice(0, maxShown).map(({ code, count, failed }) => (
          <li key={code} className="shrink-0">
            <button
              type="button"
              title={`Only ${code}`}
              onClick={() => replace((before) => withFilter(before, { name: 'error_code', value: code }))}
              className="inline-flex h-6 items-center gap-1.5 rounded-md border border-line px-2 hover:bg-hover"
            >
              <span className={`font-mono text-2xs ${failed > 0 ? 'text-bad' : 'text-warn'}`}>{code}</span>
              <span className="figures">{formatCount(count)}</span>
            </button>
          </li>
        ))}
        {codes.length > maxShown && (
          <li className="shrink-0 self-center text-ink-faint">
            and {formatCount(codes.length - maxShown)} more
          </li>
        )}
      </ul>
    </section>
  );
}
