/** The filter of a list of Generations, as the address has it. */
import type { Search } from '../../address.ts';

export const statuses = [
  { value: 'in_progress', label: 'In progress' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
  { value: 'cancelled', label: 'Cancelled' },
] as const;

export type GenerationFilter = Readonly<{ status: string | null; model: string | null; key: string | null }>;

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const maxModelLength = 200;

/** The filter in the address. Invalid values are ignored. */
export function filterIn({ status, model, key }: Search): GenerationFilter {
  const isModel = typeof model === 'string' && model !== '' && model.length <= maxModelLength;
  return {
    status: statuses.find(({ value }) => value === status)?.value ?? null,
    model: isModel ? model : null,
    key: typeof key === 'string' && uuidPattern.test(key) ? key : null,
  };
}

export function isFiltered({ status, model, key }: GenerationFilter): boolean {
  return status !== null || model !== null || key !== null;
}
