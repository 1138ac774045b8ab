/** The requests of all accounts, or of one of them, counted. */
import { lookUp } from '../../http/lookup.ts';
import { readQuery } from '../../http/query.ts';
import { operatorOnly } from '../access.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { RequestGroups, RequestSeries } from '../request-contract.ts';
import { type FiguresServices, findGroups, findSeries, parseGrouping } from '../request-figures.ts';
import { parseCountFilter, parseSeriesFilter, requestParameters, sumParameters } from '../request-filter.ts';

const failure = 'usage_lookup_failed';

export function anyRequestFiguresPage({ reads, catalog }: FiguresServices): Routes<ConsoleHandler> {
  return {
    '/requests/series': {
      GET: async (request, { signedIn }) => {
        const query = readQuery(request.url, [...requestParameters, 'account']);
        const filter = parseSeriesFilter(query, Date.now(), catalog().catalog.models);
        const series = await lookUp(failure, () =>
          findSeries(reads(), (sql) => operatorOnly(sql, signedIn), 'permission_denied', filter),
        );
        return Response.json(series satisfies RequestSeries);
      },
    },
    '/requests/groups': {
      GET: async (request, { signedIn }) => {
        const query = readQuery(request.url, [...sumParameters, 'account', 'by', 'order', 'limit']);
        const filter = parseCountFilter(query, Date.now());
        const wanted = parseGrouping(query);
        const groups = await lookUp(failure, () =>
          findGroups(reads(), (sql) => operatorOnly(sql, signedIn), 'permission_denied', filter, wanted),
        );
        return Response.json(groups satisfies RequestGroups);
      },
    },
  };
}
