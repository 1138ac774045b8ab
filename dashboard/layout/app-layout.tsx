/** The frame around every page behind the sign-in: a sidebar, or a bar with a drawer where there is no room for it. */
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { Menu as MenuIcon, X } from 'lucide-react';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useChosenAccount } from '../api/session.ts';
import { IconButton } from '../kit/icon-button.tsx';
import { Sidebar } from './sidebar.tsx';
import { UnreachableNote } from './unreachable-note.tsx';
import { Wordmark } from './wordmark.tsx';

export function AppLayout() {
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const [account] = useChosenAccount();
  const path = useLocation({ select: ({ pathname }) => pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: every other page closes the drawer.
  useEffect(() => setDrawerOpen(false), [path]);
  return (
    <div className="min-h-dvh lg:pl-60">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-raised font-medium shadow-float focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:px-3 focus:py-2"
      >
        Skip to the content
      </a>
      <header className="sticky top-0 z-30 flex h-13 items-center gap-2 border-b border-line bg-canvas/90 px-3 backdrop-blur lg:hidden">
        <IconButton
          icon={MenuIcon}
          label="Open the menu"
          aria-haspopup="dialog"
          onClick={() => setDrawerOpen(true)}
        />
        <Link to="/" aria-label="Tollgate, to the overview" className="rounded">
          <Wordmark />
        </Link>
        <span className="ml-auto min-w-0 truncate pr-1 pl-3 text-[0.8125rem] text-ink-soft">
          {account?.name}
        </span>
      </header>
      {isDrawerOpen && <Drawer onClose={() => setDrawerOpen(false)} />}
      <aside className="fixed inset-y-0 left-0 hidden w-60 flex-col border-r border-line bg-surface lg:flex">
        <div className="flex h-14 shrink-0 items-center px-5">
          <Link to="/" aria-label="Tollgate, to the overview" className="rounded">
            <Wordmark />
          </Link>
        </div>
        <Sidebar />
      </aside>
      <main
        id="content"
        tabIndex={-1}
        className="mx-auto w-full max-w-6xl px-4 pt-6 pb-20 sm:px-6 lg:px-8 lg:pt-8"
      >
        <UnreachableNote />
        <Outlet />
      </main>
    </div>
  );
}

function Drawer({ onClose }: Readonly<{ onClose: () => void }>) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-label="Menu"
      onClose={() => {
        if (ref.current !== null) onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
      className="m-0 h-dvh max-h-none w-72 max-w-[85vw] animate-slide flex-col overflow-hidden bg-surface p-0 text-ink shadow-float open:flex"
    >
      <div className="flex h-13 shrink-0 items-center justify-between pr-3 pl-5">
        <Wordmark />
        <IconButton icon={X} label="Close the menu" onClick={onClose} />
      </div>
      <Sidebar />
    </dialog>
  );
}
