/** Addresses of earlier versions, which people have in their bookmarks and messages. */
import type { Search } from './address.ts';

const filtersOfGenerations = ['status', 'model', 'key', 'end_user', 'tag', 'session', 'account'];

/** The address of the requests for that of the list of Generations, which had no range. */
export function searchOfOldList(search: Search): Search {
  const kept = filtersOfGenerations.flatMap((name) => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : [];
  });
  return { ...Object.fromEntries(kept), range: '30d' };
}
