/** Which Generations are shown, as the address of the page says it. What makes no sense there is left out. */
export const statuses = [
  { value: 'in_progress', label: 'In progress' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
  { value: 'cancelled', label: 'Cancelled' },
] as const;

export type GenerationFilter = Readonly<{ status: string | null; model: string | null; key: string | null }>;

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const longestModel = 200;

export function filterIn(search: Readonly<Record<string, unknown>>): GenerationFilter {
  const { status, model, key } = search;
  const isModel = typeof model === 'string' && model !== '' && model.length <= longestModel;
  return {
    status: statuses.find(({ value }) => value === status)?.value ?? null,
    model: isModel ? model : null,
    key: typeof key === 'string' && uuidPattern.test(key) ? key : null,
  };
}

export function isFiltered({ status, model, key }: GenerationFilter): boolean {
  return status !== null || model !== null || key !== null;
}
