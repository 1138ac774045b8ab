/** What went wrong in a range, by error code: why, what to do about it, and the requests themselves. */
import { Link } from '@tanstack/react-router';
import type { RequestGroups } from '../../../src/console/request-contract.ts';
import { Card } from '../../kit/card.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { formatCount } from '../../kit/format-figures.ts';
import { QueryTable } from '../../kit/query-table.tsx';
import { BreakableCode, type Column } from '../../kit/table.tsx';
import { useTop } from '../home/queries.ts';
import { type HomeRange, type HomeView, inExplorer } from '../home/view.ts';
import { explainError } from '../requests/explain.ts';
import { fixes, type Place } from '../requests/refusal-fixes.ts';
import { useScope } from '../requests/scope.ts';

const shownProblems = 8;

export type Problem = Readonly<{
  code: string;
  requests: number;
  what: string;
  todo: string;
  place: Exclude<Place, 'docs'> | null;
}>;

/** Requests that were cancelled are no problem of the gateway, whatever they ended with. */
export function problemsIn({ data }: RequestGroups): Problem[] {
  return data.flatMap(({ value: code, failed, refused }) => {
    if (code === null || failed + refused === 0) return [];
    const fix = fixes.get(code);
    const { what, todo } = fix ?? explainError(code, 'It failed.');
    const place = fix === undefined || fix.place === 'docs' ? null : fix.place;
    return [{ code, requests: failed + refused, what, todo, place }];
  });
}

export function Problems({ range, view }: HomeView) {
  const query = useTop(view, 'error_code', 'errors');
  const problems = query.data && problemsIn(query.data);
  return (
    <Card title="Problems" description="Failed and refused requests, by error code" isFlush>
      <QueryTable
        query={query}
        caption="Problems"
        isDense
        columns={columnsOf(range, useScope())}
        rows={problems?.slice(0, shownProblems)}
        rowKey={({ code }) => code}
        expectedRows={2}
        empty={<p className="py-3 text-ink-faint">No request failed or was refused in this range.</p>}
      />
    </Card>
  );
}

const placeNames: Readonly<Record<Exclude<Place, 'docs'>, string>> = {
  billing: 'Go to billing',
  key: 'Go to keys',
  limits: 'Go to limits',
  models: 'See the models',
};
const placePaths = { billing: '/billing', key: '/keys', limits: '/limits', models: '/models' } as const;

function columnsOf(range: HomeRange, scope: ReturnType<typeof useScope>): readonly Column<Problem>[] {
  return [
    {
      key: 'code',
      header: 'Error code',
      width: 'w-56',
      isBare: true,
      cell: ({ code }) => <BreakableCode>{code}</BreakableCode>,
    },
    {
      key: 'requests',
      header: 'Requests',
      align: 'right',
      width: 'w-24',
      cell: ({ code, requests }) => (
        <Link {...inExplorer(scope, range, { error_code: code })} className={textLinkClass}>
          <span className="figures">{formatCount(requests)}</span>
          <span className="sr-only"> with {code}</span>
        </Link>
      ),
    },
    {
      key: 'fix',
      header: 'What to do',
      isWrapping: true,
      cell: ({ what, todo, place }) => (
        <>
          <span className="text-ink-soft">{what}</span> {todo}{' '}
          {place !== null && (
            <Link to={placePaths[place]} className={textLinkClass}>
              {placeNames[place]}
            </Link>
          )}
        </>
      ),
    },
  ];
}
