/** What the explorer shows, as its address has it. Whatever is not about the page itself is a filter. */
import type { Search } from '../../address.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `stepMs` is that of the chart. */
export const rangeKinds = [
  { value: '15m', label: '15 min', name: 'The last 15 minutes', lengthMs: 15 * minuteMs, stepMs: minuteMs },
  { value: '1h', label: '1 h', name: 'The last hour', lengthMs: hourMs, stepMs: minuteMs },
  { value: '24h', label: '24 h', name: 'The last 24 hours', lengthMs: dayMs, stepMs: 15 * minuteMs },
  { value: '7d', label: '7 d', name: 'The last 7 days', lengthMs: 7 * dayMs, stepMs: 2 * hourMs },
  { value: '30d', label: '30 d', name: 'The last 30 days', lengthMs: 30 * dayMs, stepMs: 8 * hourMs },
] as const;
export type RangeKind = (typeof rangeKinds)[number]['value'];

const defaultRange: RangeKind = '24h';
/** For links from elsewhere, which may be about older requests. */
export const longestRange: RangeKind = '30d';

export const chartKinds = [
  { value: 'volume', label: 'Volume' },
  { value: 'errors', label: 'Error rate' },
  { value: 'duration', label: 'p50/p95' },
  { value: 'first_token', label: 'First token' },
  { value: 'cost', label: 'Cost' },
] as const;
export type ChartKind = (typeof chartKinds)[number]['value'];

/** `from` and `to` of a custom range are passed on as the address has them: the gateway says what is wrong with them. */
export type Range =
  | Readonly<{ kind: RangeKind; lengthMs: number; stepMs: number }>
  | Readonly<{ kind: 'custom'; from: string | null; to: string | null }>;

export type Filter = Readonly<{ name: string; value: string }>;

export type View = Readonly<{
  range: Range;
  filters: readonly Filter[];
  isUtc: boolean;
  isLive: boolean;
  chart: ChartKind;
  /** The request in the panel. */
  request: string | null;
  cursor: string | null;
  /** Where the range of a list starts whose second or a later page is shown: a cursor belongs to one range. */
  since: string | null;
  page: number;
  /** What in the address is not known, in words. */
  problem: string | null;
}>;

const pageParameters = new Set([
  'range',
  'from',
  'to',
  'tz',
  'live',
  'chart',
  'request',
  'cursor',
  'since',
  'page',
]);

/** The account is part of every address of a customer's page, and a filter for operators. */
export function viewIn(search: Search, isOperator: boolean): View {
  const text = (name: string) => textIn(search[name]);
  const cursor = text('cursor');
  return {
    range: rangeIn(text('range'), text('from'), text('to')),
    filters: filtersIn(search, isOperator),
    isUtc: text('tz') === 'utc',
    isLive: text('live') !== 'no',
    chart: chartKinds.find(({ value }) => value === text('chart'))?.value ?? 'volume',
    request: text('request'),
    cursor,
    since: cursor === null ? null : text('since'),
    page: cursor === null ? 1 : Math.max(2, Number(/^\d{1,6}$/.exec(text('page') ?? '')?.[0] ?? 2)),
    problem: problemIn(search),
  };
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function rangeIn(kind: string | null, from: string | null, to: string | null): Range {
  if (kind === null && (from !== null || to !== null)) return { kind: 'custom', from, to };
  const { value, lengthMs, stepMs } =
    rangeKinds.find((known) => known.value === (kind ?? defaultRange)) ?? rangeKinds[2];
  return { kind: value, lengthMs, stepMs };
}

function filtersIn(search: Search, isOperator: boolean): Filter[] {
  return Object.entries(search).flatMap(([name, value]) => {
    const text = textIn(value);
    if (text === null || pageParameters.has(name) || (name === 'account' && !isOperator)) return [];
    return [{ name, value: text }];
  });
}

const choices: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['range', rangeKinds.map(({ value }) => value)],
  ['chart', chartKinds.map(({ value }) => value)],
  ['tz', ['utc', 'local']],
  ['live', ['yes', 'no']],
];

function problemIn(search: Search): string | null {
  for (const [name, values] of choices) {
    const value = textIn(search[name]);
    if (value !== null && !values.includes(value)) return `${name} must be one of ${values.join(', ')}.`;
  }
  return null;
}

export type Times = Readonly<{ from?: string; to?: string }>;

/** A range that ends now starts with a round time, so that the steps of the chart do too, and is open at its end. */
export function timesOf(range: Range, nowMs: number): Times {
  if (range.kind === 'custom')
    return {
      ...(range.from === null ? {} : { from: range.from }),
      ...(range.to === null ? {} : { to: range.to }),
    };
  return { from: isoOf(Math.floor((nowMs - range.lengthMs) / range.stepMs) * range.stepMs) };
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** Whether new requests can appear in it. */
export function isOpenEnded({ range, cursor }: Pick<View, 'range' | 'cursor'>): boolean {
  return cursor === null && (range.kind !== 'custom' || range.to === null);
}

const groupedFilters = new Set(['status', 'error_code', 'model', 'key', 'provider', 'account']);

/** Whether requests are added up by this filter. Groups are refused with any other. */
export function canGroup(name: string): boolean {
  return groupedFilters.has(name);
}

export function filterQuery(filters: readonly Filter[]): Record<string, string> {
  return Object.fromEntries(filters.map(({ name, value }) => [name, value]));
}

/** Any change of what is listed starts at its first page, and closes the panel. */
function fromStart(search: Search): Search {
  const { cursor: _cursor, since: _since, page: _page, request: _request, ...rest } = search;
  return rest;
}

export function withFilter(search: Search, { name, value }: Filter): Search {
  return { ...fromStart(search), [name]: value };
}

export function withoutFilter(search: Search, name: string): Search {
  const { [name]: _removed, ...rest } = fromStart(search);
  return rest;
}

export function withoutFilters(search: Search, filters: readonly Filter[]): Search {
  return filters.reduce<Search>((left, { name }) => withoutFilter(left, name), search);
}

export function withRange(search: Search, kind: RangeKind): Search {
  const { from: _from, to: _to, ...rest } = fromStart(search);
  return { ...rest, range: kind === defaultRange ? undefined : kind };
}

export function withTimes(search: Search, fromMs: number, toMs: number): Search {
  const { range: _range, ...rest } = fromStart(search);
  return { ...rest, from: isoOf(fromMs), to: isoOf(toMs) };
}
