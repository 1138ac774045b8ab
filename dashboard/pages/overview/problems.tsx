/** What went wrong in a range, by error code: why, where most of it comes from, what to do, and the requests themselves. */
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import type { RequestProblem, RequestProblems } from '../../../src/console/request-contract.ts';
import { Card } from '../../kit/card.tsx';
import { classNames, textLinkClass } from '../../kit/class-names.ts';
import { Time } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { QueryTable } from '../../kit/query-table.tsx';
import { BreakableCode, type Column } from '../../kit/table.tsx';
import { accountLink, type Destination } from '../../links.ts';
import { useProblems } from '../home/queries.ts';
import { type HomeRange, type HomeView, inExplorer } from '../home/view.ts';
import { explainError } from '../requests/explain.ts';
import { fixes, type Place } from '../requests/refusal-fixes.ts';
import { type Scope, useScope } from '../requests/scope.ts';

const shownProblems = 8;
/** The gateway tells no more of them apart. */
const toldApart = 20;

export type Problem = Pick<RequestProblem, 'code' | 'key' | 'model' | 'param' | 'last_at'> &
  Readonly<{ requests: number; what: string; todo: string; place: Exclude<Place, 'docs'> | null }>;

/** Requests that were cancelled are no problem of the gateway, whatever they ended with. */
export function problemsIn({ data }: Pick<RequestProblems, 'data'>): Problem[] {
  return data.map(({ failed, refused, ...problem }) => {
    const fix = fixes.get(problem.code);
    const { what, todo } = fix ?? explainError(problem.code, 'It failed.');
    const place = fix === undefined || fix.place === 'docs' ? null : fix.place;
    return { ...problem, requests: failed + refused, what, todo, place };
  });
}

/** How many of the requests with a problem are of one key or model, in words; null for less than half of them. */
export function shareWords(ofOne: number, all: number): 'only' | 'mostly' | null {
  if (ofOne === all) return 'only';
  return ofOne * 2 >= all ? 'mostly' : null;
}

export function Problems({ range, view, actions }: HomeView & Readonly<{ actions?: ReactNode }>) {
  const query = useProblems(view);
  const problems = query.data && problemsIn(query.data);
  const scope = useScope();
  return (
    <Card title="Problems" description="Failed and refused requests, by error code" actions={actions} isFlush>
      <QueryTable
        query={query}
        caption="Problems"
        columns={columnsOf(range, scope)}
        rows={problems?.slice(0, shownProblems)}
        rowKey={({ code }) => code}
        expectedRows={2}
        empty={<p className="py-3 text-ink-faint">No request failed or was refused in this range.</p>}
      />
      {problems !== undefined && problems.length > shownProblems && (
        <p className="py-2 text-xs text-ink-faint">
          {moreCodes(problems.length)}, among the{' '}
          <Link {...inExplorer(scope, range, { status: 'failed' })} className={textLinkClass}>
            failed
          </Link>{' '}
          and{' '}
          <Link {...inExplorer(scope, range, { status: 'refused' })} className={textLinkClass}>
            refused
          </Link>{' '}
          requests
        </p>
      )}
    </Card>
  );
}

/** How many error codes there are besides those that are shown. */
export function moreCodes(all: number): string {
  const more = all - shownProblems;
  return `And ${all < toldApart ? more : `${more} or more`} other error ${more === 1 ? 'code' : 'codes'}`;
}

const placeNames: Readonly<Record<Exclude<Place, 'docs'>, string>> = {
  billing: 'Go to billing',
  key: 'Go to keys',
  limits: 'Go to limits',
  models: 'See the models',
};
const placePaths = { billing: '/billing', key: '/keys', limits: '/limits', models: '/models' } as const;
/** Operators change on the page of the account what customers change on theirs. They add credit at the top of it. */
const placeTabs = { key: 'keys', limits: 'limits' } as const;

function placeLink(place: Problem['place'], { search }: Scope): Destination | null {
  if (place === null) return null;
  if (search === undefined) return { to: placePaths[place] };
  if (place === 'billing') return null;
  return place === 'models'
    ? { to: placePaths.models, search }
    : { ...accountLink(search.account), search: { tab: placeTabs[place] } };
}

function columnsOf(range: HomeRange, scope: Scope): readonly Column<Problem>[] {
  return [
    {
      key: 'code',
      header: 'Error code',
      width: 'w-48',
      isBare: true,
      cell: ({ code }) => (
        <Link {...inExplorer(scope, range, { error_code: code })} className={textLinkClass}>
          <BreakableCode>{code}</BreakableCode>
        </Link>
      ),
    },
    {
      key: 'requests',
      header: 'Requests',
      align: 'right',
      width: 'w-20',
      cell: ({ code, requests }) => (
        <Link {...inExplorer(scope, range, { error_code: code })} className={textLinkClass}>
          <span className="figures">{formatCount(requests)}</span>
          <span className="sr-only"> with {code}</span>
        </Link>
      ),
    },
    {
      key: 'last',
      header: 'Last',
      width: 'w-28',
      isOptional: true,
      cell: ({ last_at: at }) => <Time at={at} style="minute" otherwise="–" />,
    },
    {
      key: 'source',
      header: 'Where from',
      width: 'md:w-44 xl:w-72',
      isWrapping: true,
      cell: (problem) => <Source problem={problem} range={range} scope={scope} />,
    },
    {
      key: 'fix',
      header: 'What to do',
      isWrapping: true,
      cell: ({ what, todo, place }) => {
        const link = placeLink(place, scope);
        return (
          <>
            <span className="text-ink-soft">{what}</span> {todo}{' '}
            {place !== null && link !== null && (
              <Link {...link} className={textLinkClass}>
                {placeNames[place]}
              </Link>
            )}
          </>
        );
      },
    },
  ];
}

type SourceProps = Readonly<{ problem: Problem; range: HomeRange; scope: Scope }>;

/** Each name leads to those requests. */
function Source({ problem, range, scope }: SourceProps) {
  const { code, requests, key, model, param } = problem;
  const part = (
    ofOne: number | undefined,
    kind: string,
    name: string,
    filter: Readonly<Record<string, string>>,
  ) => {
    const words = shareWords(ofOne ?? 0, requests);
    return words === null ? null : (
      <>
        {words} {kind}{' '}
        <Link
          {...inExplorer(scope, range, { error_code: code, ...filter })}
          className={classNames(textLinkClass, 'wrap-anywhere')}
        >
          {name}
        </Link>
      </>
    );
  };
  const ofKey = part(key?.requests, 'key', key?.name ?? '', { key: key?.id ?? '' });
  const ofModel = part(model?.requests, 'model', model?.name ?? '', { model: model?.name ?? '' });
  const several =
    ofKey === null && ofModel === null && model !== null ? 'several keys and models' : 'several keys';
  const parts = [
    ofKey ?? several,
    ofModel ?? (ofKey !== null && model !== null ? 'several models' : null),
    param === null ? null : (
      <>
        parameter <code className="font-mono">{param}</code>
      </>
    ),
  ].filter((one) => one !== null);
  return (
    <span className="inline-block first-letter:uppercase">
      {parts.map((one, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts never move.
        <Fragment key={at}>
          {at > 0 && ', '}
          {one}
        </Fragment>
      ))}
    </span>
  );
}
