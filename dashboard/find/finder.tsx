/**
 * Opens the box that finds anything: by its button, by Ctrl-K or Cmd-K anywhere, and by a slash where nobody writes. The
 * box itself is loaded when it is first opened.
 */
import { Search } from 'lucide-react';
import { type ComponentType, useEffect, useState, useSyncExternalStore } from 'react';
import { IconButton } from '../kit/button.tsx';
import { showToast } from '../kit/toast.tsx';

let isOpen = false;
const listeners = new Set<() => void>();

function setOpen(next: boolean): void {
  isOpen = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

type BoxProps = Readonly<{ onClose: () => void }>;

export function Finder() {
  const isWanted = useSyncExternalStore(subscribe, () => isOpen);
  const [Box, setBox] = useState<ComponentType<BoxProps> | null>(null);
  useEffect(() => {
    document.addEventListener('keydown', openByKey);
    return () => {
      document.removeEventListener('keydown', openByKey);
      setOpen(false);
    };
  }, []);
  useEffect(() => {
    if (!isWanted || Box !== null) return;
    import('./find-box.tsx').then(
      ({ FindBox }) => setBox(() => FindBox),
      () => {
        setOpen(false);
        showToast('bad', 'The search could not be loaded. Check your connection and try again.');
      },
    );
  }, [isWanted, Box]);
  return isWanted && Box !== null ? <Box onClose={() => setOpen(false)} /> : null;
}

function openByKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.shiftKey) return;
  const isShortcut = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
  const isSlash = event.key === '/' && !event.ctrlKey && !event.metaKey && !isWriting(event.target);
  // A dialog is finished or closed first.
  if ((!isShortcut && !isSlash) || document.querySelector('dialog:modal') !== null) return;
  event.preventDefault();
  setOpen(true);
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
  );
}

export function FindButton({ isWide = false }: Readonly<{ isWide?: boolean }>) {
  const open = () => setOpen(true);
  if (!isWide)
    return <IconButton icon={Search} label="Find anything" aria-haspopup="dialog" onClick={open} />;
  return (
    <button
      type="button"
      aria-haspopup="dialog"
      aria-keyshortcuts="Control+K Meta+K"
      onClick={open}
      className="mx-3 mb-2 flex h-7 shrink-0 items-center gap-2 rounded-md border border-line bg-canvas px-2 text-left text-ink-faint transition-colors duration-100 hover:border-edge hover:text-ink"
    >
      <Search aria-hidden className="size-3.5" />
      <span className="flex-1 text-xs">Find anything</span>
      <kbd aria-hidden className="font-sans text-2xs">
        Ctrl K
      </kbd>
    </button>
  );
}
