/** Whether the gateway was there when something was last asked of it. */
import { useSyncExternalStore } from 'react';

let isReachable = true;
const listeners = new Set<() => void>();

/** Any answer counts, a refusal too: only where none came the gateway is gone. */
export function reportReachable(next: boolean): void {
  if (next === isReachable) return;
  isReachable = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useIsReachable(): boolean {
  return useSyncExternalStore(subscribe, () => isReachable);
}
