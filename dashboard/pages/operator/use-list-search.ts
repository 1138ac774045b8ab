/** What is searched for in a long list, in the address. Another search begins at the first page. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export const longestSearch = 200;

export function useListSearch(): [string, (words: string) => void] {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (words: string) => {
      navigate({
        to: '.',
        replace: true,
        resetScroll: false,
        search: words === '' ? {} : { search: words.slice(0, longestSearch) },
      }).catch(() => {});
    },
    [navigate],
  );
  return [typeof search.search === 'string' ? search.search.slice(0, longestSearch) : '', change];
}
