/** A request next to the list that it is in. The list stays in sight, and in use where there is room for both. */
import { Link } from '@tanstack/react-router';
import { ChevronDown, ChevronUp, Maximize2, X } from 'lucide-react';
import {
  type ReactNode,
  type RefObject,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useSyncExternalStore,
} from 'react';
import { StatusBadge } from '../../kit/badge.tsx';
import { IconButton } from '../../kit/button.tsx';
import { RequestId } from '../../kit/copy-button.tsx';
import { UtcClock } from '../../kit/figures.tsx';
import { isFocusShown } from '../../kit/keep-focus.ts';
import { requestLink } from '../../links.ts';
import { useRequest } from './queries.ts';
import { type Extras, nameOfRequest, RequestContent } from './request-content.tsx';
import { useScope } from './scope.ts';

type PanelProps = Readonly<{
  id: string;
  extras: Extras;
  /** Null where there is no such request on this page of the list. */
  goToNewer: (() => void) | null;
  goToOlder: (() => void) | null;
  onClose: () => void;
  /** Closes it, too, but the focus is elsewhere and stays there. */
  onLeave: () => void;
}>;

export function Panel({ id, extras, goToNewer, goToOlder, onClose, onLeave }: PanelProps) {
  const scope = useScope();
  const isUtc = useContext(UtcClock);
  const query = useRequest(id, scope);
  const { data } = query;
  const headingRef = useRef<HTMLHeadingElement>(null);
  // The focus follows from request to request, so that a screen reader says which one it is.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new request takes the focus.
  useEffect(() => headingRef.current?.focus({ preventScroll: true }), [id]);
  return (
    <PanelFrame onClose={onClose} onLeave={onLeave}>
      <header className="sticky top-0 z-10 border-b border-line bg-canvas px-4 py-2.5">
        <div className="flex items-start gap-3">
          <h2
            ref={headingRef}
            id="request-panel-title"
            tabIndex={-1}
            className="flex min-w-0 flex-1 flex-wrap items-center gap-x-2.5 gap-y-1 pt-1 font-semibold outline-none wrap-anywhere"
          >
            {nameOfRequest(data)}
            {data !== undefined && <StatusBadge status={data.request.status} />}
          </h2>
          <span className="flex shrink-0">
            <IconButton
              icon={ChevronUp}
              label="Newer (k)"
              disabled={goToNewer === null}
              onClick={() => goToNewer?.()}
            />
            <IconButton
              icon={ChevronDown}
              label="Older (j)"
              disabled={goToOlder === null}
              onClick={() => goToOlder?.()}
            />
            <Link
              {...requestLink(id, scope.reader, isUtc)}
              aria-label="Open as a page"
              title="Open as a page"
              className="inline-grid size-8 place-items-center rounded-md text-ink-soft hover:bg-hover hover:text-ink"
            >
              <Maximize2 aria-hidden className="size-3.5" />
            </Link>
            <IconButton icon={X} label="Close (Escape)" onClick={onClose} />
          </span>
        </div>
        <div className="flex flex-wrap items-center justify-between gap-2">
          <RequestId id={id} />
          {data?.kind === 'generation' && extras.Actions !== undefined && (
            <extras.Actions generation={data.request} />
          )}
        </div>
      </header>
      <div className="p-4">
        <RequestContent query={query} extras={extras} />
      </div>
    </PanelFrame>
  );
}

const narrow = '(max-width: 47.99rem)';

function subscribe(listener: () => void): () => void {
  const query = matchMedia(narrow);
  query.addEventListener('change', listener);
  return () => query.removeEventListener('change', listener);
}

type PanelFrameProps = Pick<PanelProps, 'onClose' | 'onLeave'> & Readonly<{ children: ReactNode }>;

/** On a narrow screen it covers the page, so it is modal there. */
function PanelFrame({ onClose, onLeave, children }: PanelFrameProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const isNarrow = useSyncExternalStore(subscribe, () => matchMedia(narrow).matches);
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (isNarrow) dialog?.showModal();
    else dialog?.show();
    return () => dialog?.close();
  }, [isNarrow]);
  useCoveredFocus(ref, onLeave);
  return (
    <dialog
      ref={ref}
      aria-labelledby="request-panel-title"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      className="fixed inset-y-0 right-0 left-auto z-40 m-0 h-dvh max-h-none w-full max-w-none overflow-y-auto overscroll-contain scroll-pt-24 scroll-pb-4 border-l border-line bg-canvas p-0 text-ink shadow-float md:w-[34rem] 2xl:w-[44rem]"
    >
      {children}
    </dialog>
  );
}

/** Nobody sees what has the focus beneath the panel, so `onCovered` is called when the keyboard gets there. */
function useCoveredFocus(panel: RefObject<HTMLElement | null>, onCovered: () => void): void {
  const latest = useRef(onCovered);
  useEffect(() => {
    latest.current = onCovered;
  });
  useEffect(() => {
    // In the next frame, when the browser has scrolled to it.
    const look = () =>
      requestAnimationFrame(() => {
        const focused = document.activeElement;
        if (focused === null || panel.current?.contains(focused) !== false || !isFocusShown()) return;
        const { right, top, bottom } = focused.getBoundingClientRect();
        if (panel.current.contains(document.elementFromPoint(right - 1, (top + bottom) / 2)))
          latest.current();
      });
    document.addEventListener('focusin', look);
    return () => document.removeEventListener('focusin', look);
  }, [panel]);
}
