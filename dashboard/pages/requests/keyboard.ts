/** The keys of the explorer: j and k move through the requests, Escape closes the panel. */
import { useEffect, useRef } from 'react';

type Moves = Readonly<{ older: () => void; newer: () => void; close: (() => void) | null }>;

export function useExplorerKeys(moves: Moves): void {
  const latest = useRef(moves);
  useEffect(() => {
    latest.current = moves;
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || !isForPage(event)) return;
      const { older, newer, close } = latest.current;
      if (event.key === 'j') older();
      else if (event.key === 'k') newer();
      else if (event.key === 'Escape' && close !== null) close();
      else return;
      event.preventDefault();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);
}

/** Not while something is typed, and not in a dialog or menu, which has keys of its own. */
function isForPage({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey) return false;
  if (!(target instanceof Element)) return true;
  if (target.closest('input, textarea, select, [contenteditable], [popover]') !== null) return false;
  const dialog = target.closest('dialog');
  return dialog === null || dialog.getAttribute('aria-labelledby') === 'request-panel-title';
}
