/** A value in the address of the page, such as a filter: it survives a reload, and a link to it can be sent. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export function useSearchValue(name: string, otherwise = ''): [string, (value: string) => void] {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const value = search[name];
  const change = useCallback(
    (next: string) => {
      navigate({
        to: '.',
        replace: true,
        resetScroll: false,
        search: (before: Record<string, unknown>) => ({
          ...before,
          [name]: next === otherwise ? undefined : next,
        }),
      }).catch(() => {});
    },
    [navigate, name, otherwise],
  );
  return [typeof value === 'string' ? value : otherwise, change];
}
