/**
 * A server that behaves like the documented reports of costs of OpenAI and Anthropic, from one table of bill lines. Pages
 * hold two days or rows, and a cursor belongs to its query.
 */
export type ServedLine = Readonly<{
  day: string;
  model: string | null;
  meter: string;
  /** In USD. Served as a string, or as a number where `isNumber`. */
  amount: string;
  isNumber?: boolean;
  /** Before discounts, in USD. */
  listAmount?: string;
  /** Instead of tokens. */
  costType?: string;
}>;

export type Misbehaviour = Readonly<{
  /** Answers that come before the real ones, in order. */
  first?: (() => Response | Promise<Response>)[];
  hasAnalytics?: boolean;
  /** Of the newer report, where there is none. */
  refusal?: 403 | 404;
  refreshedAt?: string;
  /** Days without a bucket, as if they were not ready. */
  withoutBucket?: readonly string[];
  currency?: string;
  isCircular?: boolean;
}>;

export const adminKey = 'admin-key-canary';

export type CostReportServer = Readonly<{
  url: string;
  lines: ServedLine[];
  behave: (how: Misbehaviour) => void;
  /** Path and query of each request so far. */
  requests: URL[];
  stop: () => Promise<void>;
}>;

export function startCostReportServer(initial: readonly ServedLine[] = []): CostReportServer {
  const lines = [...initial];
  const requests: URL[] = [];
  let how: Misbehaviour = {};
  const routes = new Map([
    ['/v1/organization/costs', openaiPage],
    ['/v1/organizations/analytics/cost', analyticsPage],
    ['/v1/organizations/cost_report', legacyPage],
  ]);
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const url = new URL(request.url);
      requests.push(url);
      const next = how.first?.shift();
      if (next !== undefined) return await next();
      const key =
        request.headers.get('x-api-key') ?? request.headers.get('authorization')?.slice('Bearer '.length);
      if (key !== adminKey)
        return new Response('{"error":"secret detail"}', { status: key === 'normal' ? 403 : 401 });
      const isBeta = request.headers.get('anthropic-beta') === 'analytics-usage-cost-2026-08-24';
      if (url.pathname.includes('/analytics/') && (how.hasAnalytics === false || !isBeta))
        return new Response(null, { status: how.refusal ?? 404 });
      const page = routes.get(url.pathname);
      if (page === undefined) return new Response(null, { status: 404 });
      const fingerprint = fingerprintOf(url);
      const [cursorOf, place = '0'] = (url.searchParams.get('page') ?? `${fingerprint}:0`).split(':');
      if (cursorOf !== fingerprint) return new Response('the cursor is of another query', { status: 400 });
      const { text, isMore, nextPlace } = page(url.searchParams, Number(place), lines, how);
      const cursor = `"${fingerprint}:${how.isCircular === true ? 2 : nextPlace}"`;
      return new Response(`${text}, "has_more": ${isMore}, "next_page": ${isMore ? cursor : null}}`);
    },
  });
  return {
    url: server.url.origin,
    lines,
    requests,
    behave: (next) => {
      how = next;
    },
    stop: () => server.stop(true),
  };
}

function fingerprintOf(url: URL): string {
  const query = new URLSearchParams(url.searchParams);
  query.delete('page');
  return Bun.hash(`${url.pathname}?${query}`).toString(36);
}

const perPage = 2;
type Served = Readonly<{ text: string; isMore: boolean; nextPlace: number }>;
type PageOf = (
  query: URLSearchParams,
  place: number,
  lines: readonly ServedLine[],
  how: Misbehaviour,
) => Served;

function daysOf(from: string, to: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at < Date.parse(to); at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

function pageOf(items: readonly string[], place: number, more = ''): Served {
  const shown = items.slice(place, place + perPage);
  const nextPlace = place + perPage;
  return { text: `{"data": [${shown.join(', ')}]${more}`, isMore: nextPlace < items.length, nextPlace };
}

const secondsToDay = (seconds: string | null) => new Date(Number(seconds) * 1000).toISOString().slice(0, 10);

/** Cents, by moving the point. */
export function centsOf(dollars: string): string {
  const [whole = '0', fraction = ''] = dollars.split('.');
  const padded = fraction.padEnd(2, '0');
  return `${whole}${padded.slice(0, 2)}.${padded.slice(2) || '0'}`.replace(/^(-?)0+(?=\d)/, '$1');
}

const openaiPage: PageOf = (query, place, lines, { withoutBucket = [], currency = 'usd' }) => {
  const buckets = daysOf(secondsToDay(query.get('start_time')), secondsToDay(query.get('end_time')))
    .filter((day) => !withoutBucket.includes(day))
    .map((day) => {
      const results = lines
        .filter((line) => line.day === day)
        .map(({ model, meter, amount, isNumber }) => {
          const value = isNumber === true ? amount : `"${amount}"`;
          const money = amount === '' ? '' : `"amount": {"value": ${value}, "currency": "${currency}"},`;
          const item = model === null ? meter : `${model}, ${meter}`;
          return `{"object": "organization.costs.result", ${money} "line_item": "${item}", "project_id": null, "quantity": 1000, "quantity_unit": "tokens"}`;
        });
      const start = Date.parse(day) / 1000;
      return `{"object": "bucket", "start_time": ${start}, "end_time": ${start + 86_400}, "results": [${results.join(', ')}]}`;
    });
  return pageOf(buckets, place, ', "object": "page"');
};

const analyticsPage: PageOf = (query, place, lines, { refreshedAt, currency = 'USD' }) => {
  const from = query.get('starting_at')?.slice(0, 10) ?? '';
  const to = query.get('ending_at')?.slice(0, 10) ?? '';
  const days = daysOf(from, to);
  const rows = lines
    .filter(({ day }) => days.includes(day))
    .toSorted((one, other) => (one.day < other.day ? -1 : 1))
    .map(({ day, model, meter, amount, listAmount, costType = 'tokens' }) => {
      const group = {
        model,
        cost_type: costType,
        token_type: costType === 'tokens' ? meter : null,
        workspace_id: null,
      };
      const cost = {
        amount: centsOf(amount),
        ...(listAmount === undefined ? {} : { list_amount: centsOf(listAmount) }),
        currency,
        requests: null,
      };
      return JSON.stringify({ starting_at: `${day}T00:00:00Z`, ending_at: null, group, cost });
    });
  return pageOf(rows, place, `, "data_refreshed_at": "${refreshedAt ?? `${to}T01:20:00.123456Z`}"`);
};

const legacyPage: PageOf = (query, place, lines, { currency = 'USD' }) => {
  const days = daysOf(
    query.get('starting_at')?.slice(0, 10) ?? '',
    query.get('ending_at')?.slice(0, 10) ?? '',
  );
  const buckets = days.map((day) => {
    const results = lines
      .filter((line) => line.day === day)
      .map(({ model, meter, amount, costType = 'tokens' }) => ({
        amount: centsOf(amount),
        currency,
        cost_type: costType,
        description: `${model} ${meter}`,
        model,
        token_type: costType === 'tokens' ? meter : null,
        workspace_id: null,
      }));
    return JSON.stringify({ starting_at: `${day}T00:00:00Z`, ending_at: null, results });
  });
  return pageOf(buckets, place);
};
