/** The focus in a list that is edited: it goes to an item that was added, and stays in the list when its own was removed. */
import { type RefObject, useEffect, useRef } from 'react';
import { keepFocus } from '../../kit/keep-focus.ts';

type ItemFocus<List extends HTMLElement> = Readonly<{
  /** Of the element whose children are the items. */
  list: RefObject<List | null>;
  /** To be called when an item is added by hand, and not by an example. */
  onAdd: () => void;
}>;

export function useItemFocus<List extends HTMLElement>(count: number): ItemFocus<List> {
  const list = useRef<List>(null);
  const isAdded = useRef(false);
  const known = useRef(count);
  useEffect(() => {
    if (known.current === count) return;
    known.current = count;
    const last = list.current?.lastElementChild ?? null;
    if (isAdded.current) last?.querySelector<HTMLElement>('input')?.focus();
    else keepFocus(last?.querySelector<HTMLElement>('button:enabled') ?? null);
    isAdded.current = false;
  }, [count]);
  return {
    list,
    onAdd: () => {
      isAdded.current = true;
    },
  };
}
