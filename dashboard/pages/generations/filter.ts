/** The filter of a list of Generations, as the address has it. */
import type { Search } from '../../address.ts';

export const statuses = [
  { value: 'in_progress', label: 'In progress' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
  { value: 'cancelled', label: 'Cancelled' },
] as const;

/** Whom requests were for. The names are those of the API. */
export type AttributionFilter = Readonly<{
  end_user: string | null;
  /** As it was typed. */
  tag: string | null;
  session: string | null;
}>;

export type GenerationFilter = AttributionFilter &
  Readonly<{ status: string | null; model: string | null; key: string | null }>;

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const maxModelLength = 200;
const maxLabelLength = 256;
const maxTagNameLength = 64;

/** The filter in the address. Invalid values are ignored. */
export function filterIn(search: Search): GenerationFilter {
  const { status, key } = search;
  return {
    status: statuses.find(({ value }) => value === status)?.value ?? null,
    model: textIn(search.model, maxModelLength),
    key: typeof key === 'string' && uuidPattern.test(key) ? key : null,
    ...attributionIn(search),
  };
}

export function attributionIn({ end_user: endUser, tag, session }: Search): AttributionFilter {
  return {
    end_user: textIn(endUser, maxLabelLength),
    tag: textIn(tag, maxTagNameLength + maxLabelLength + 1),
    session: textIn(session, maxLabelLength),
  };
}

function textIn(value: unknown, maxLength: number): string | null {
  return typeof value === 'string' && value !== '' && value.length <= maxLength ? value : null;
}

/** Whether the API would take it: while it is being typed, it may not be one yet. */
export function isTag(text: string): boolean {
  return /^[^=,]+=./.test(text);
}

/** What to ask for. */
export function queryOf<Filter extends AttributionFilter>(filter: Filter): Filter {
  return filter.tag === null || isTag(filter.tag) ? filter : { ...filter, tag: null };
}

export function isFiltered(filter: AttributionFilter): boolean {
  return Object.values(filter).some((value) => value !== null);
}

/** For the address. */
export function searchOf(filter: AttributionFilter): Search {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== null));
}
