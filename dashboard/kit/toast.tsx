/** Short messages about what just happened. `showToast` can be called from anywhere. */
import { CircleAlert, CircleCheck, X } from 'lucide-react';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { IconButton } from './button.tsx';
import { isFocusShown, useKeptFocus } from './keep-focus.ts';

type Toast = Readonly<{ id: number; tone: 'good' | 'bad'; text: string }>;

const shownMs = { good: 5_000, bad: 12_000 } as const;
const maxToasts = 3;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

export function showToast(tone: Toast['tone'], text: string): void {
  lastId += 1;
  change([...toasts, { id: lastId, tone, text }].slice(-maxToasts));
}

function dismiss(id: number): void {
  change(toasts.filter((toast) => toast.id !== id));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Always rendered, so that screen readers announce what is added, and above everything, dialogs included. */
export function ToastRegion() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  const ref = useRef<HTMLElement>(null);
  const newest = shown.at(-1);
  useEffect(() => ref.current?.showPopover(), []);
  useEffect(() => {
    // The popover that was opened last is on top.
    if (newest === undefined || document.querySelector('dialog:modal') === null) return;
    ref.current?.hidePopover();
    ref.current?.showPopover();
  }, [newest]);
  useEffect(() => keepFocusAbove(shown.length === 0 ? 0 : (ref.current?.offsetHeight ?? 0)), [shown]);
  return (
    <section
      ref={ref}
      popover="manual"
      aria-label="Notifications"
      aria-live="polite"
      className="pointer-events-none fixed inset-auto right-0 bottom-0 m-0 w-full flex-col items-end gap-2 overflow-visible bg-transparent p-4 text-ink open:flex sm:max-w-md"
    >
      {shown.map((toast) => (
        <ToastCard key={toast.id} toast={toast} />
      ))}
    </section>
  );
}

/** What has the focus, or takes it meanwhile, is not left beneath the toasts. */
function keepFocusAbove(height: number): void {
  const root = document.documentElement;
  root.style.scrollPaddingBottom = height === 0 ? '' : `${height}px`;
  const { activeElement } = document;
  if (height === 0 || activeElement === null || !isFocusShown()) return;
  const { top, bottom } = activeElement.getBoundingClientRect();
  if (top < window.innerHeight && bottom > window.innerHeight - height)
    activeElement.scrollIntoView({ block: 'nearest' });
}

function ToastCard({ toast }: Readonly<{ toast: Toast }>) {
  useKeptFocus();
  useEffect(() => {
    const timer = setTimeout(() => dismiss(toast.id), shownMs[toast.tone]);
    return () => clearTimeout(timer);
  }, [toast]);
  const Icon = toast.tone === 'good' ? CircleCheck : CircleAlert;
  return (
    <div className="pointer-events-auto flex max-w-full animate-appear items-start gap-2.5 rounded-lg bg-raised py-2.5 pr-2 pl-3.5 shadow-float">
      <Icon
        aria-hidden
        className={`mt-0.5 size-4 shrink-0 ${toast.tone === 'good' ? 'text-good' : 'text-bad'}`}
      />
      <p className="min-w-0 wrap-anywhere">{toast.text}</p>
      <IconButton icon={X} label="Dismiss" onClick={() => dismiss(toast.id)} className="-my-1 size-7" />
    </div>
  );
}
