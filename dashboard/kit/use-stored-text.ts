/** A text that this browser remembers, shared by every part of the page and by other tabs. */
import { useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
}

/** What a browser that keeps nothing was told since the page was opened. */
const untold = new Map<string, string>();

function read(place: string): string | null {
  // A browser may let us read and yet not write, as when it has no room left: then this is the newer one.
  const told = untold.get(place);
  if (told !== undefined) return told;
  try {
    return localStorage.getItem(place);
  } catch {
    return null;
  }
}

export function useStoredText(place: string): [string | null, (text: string) => void] {
  const text = useSyncExternalStore(subscribe, () => read(place));
  const write = (next: string) => {
    try {
      localStorage.setItem(place, next);
      untold.delete(place);
    } catch {
      untold.set(place, next);
    }
    for (const listener of listeners) listener();
  };
  return [text, write];
}
