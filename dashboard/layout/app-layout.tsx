/** The frame of every page behind the sign-in: a sidebar, or a bar with a drawer on narrow screens. */
import { useQueryClient } from '@tanstack/react-query';
import { Navigate, Outlet, useLocation, useRouter } from '@tanstack/react-router';
import { Menu as MenuIcon, WifiOff, X } from 'lucide-react';
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { CatalogStatus } from '../../src/console/operator-contract.ts';
import { get, useIsReachable } from '../api/client.ts';
import {
  selectAccount,
  useForeignAccount,
  useMe,
  useNamedAccount,
  useSelectedAccount,
} from '../api/session.ts';
import { FindButton, Finder } from '../find/finder.tsx';
import { IconButton } from '../kit/button.tsx';
import { CatalogueContext } from '../kit/model-mark.tsx';
import { Loading, SkeletonLines } from '../kit/states.tsx';
import { useModels } from '../pages/models/models.ts';
import { useOperatorQuery } from '../pages/operator/operator-query.ts';
import { ForeignAccountPage, NoAccountPage } from './fallback-pages.tsx';
import { ForeignAccount } from './foreign-account.tsx';
import { Sidebar } from './sidebar.tsx';
import { VerifyEmailNote } from './verify-email-note.tsx';
import { HomeLink, Wordmark } from './wordmark.tsx';

/** Around the page of the current route, or around what replaces it. */
export function AppLayout({ children }: Readonly<{ children?: ReactNode }>) {
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const account = useSelectedAccount();
  const path = useLocation({ select: ({ pathname }) => pathname });
  const router = useRouter();
  // Also navigation to the page that is already there.
  useEffect(() => router.subscribe('onBeforeNavigate', () => setDrawerOpen(false)), [router]);
  return (
    <div className="min-h-dvh lg:pl-52">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-raised font-medium shadow-float focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:px-3 focus:py-2"
      >
        Skip to content
      </a>
      <header className="sticky top-0 z-30 flex h-13 items-center gap-2 border-b border-line bg-canvas/90 px-3 backdrop-blur lg:hidden">
        <IconButton
          icon={MenuIcon}
          label="Open menu"
          aria-haspopup="dialog"
          onClick={() => setDrawerOpen(true)}
        />
        <HomeLink />
        <span className="ml-auto min-w-0 truncate pr-1 pl-3 text-[0.8125rem] text-ink-soft">
          {account?.name}
        </span>
        <FindButton />
      </header>
      <Finder />
      {isDrawerOpen && <Drawer onClose={() => setDrawerOpen(false)} />}
      <aside className="fixed inset-y-0 left-0 hidden w-52 flex-col border-r border-line bg-side lg:flex">
        <div className="flex h-12 shrink-0 items-center px-4">
          <HomeLink />
        </div>
        <FindButton isWide />
        <Sidebar />
      </aside>
      <main id="content" tabIndex={-1} className="w-full px-4 pt-5 pb-20 sm:px-6 lg:px-8 lg:pt-6">
        <UnreachableNote />
        {/* The overview has a place of its own for it. */}
        {path !== '/' && <VerifyEmailNote />}
        <WithCatalogue hasAccount={account !== null}>{children ?? <Outlet />}</WithCatalogue>
      </main>
    </div>
  );
}

type WithCatalogueProps = Readonly<{ hasAccount: boolean; children: ReactNode }>;

/** The colour of a model depends on which others there are, and is the same for customers and operators. */
function WithCatalogue({ hasAccount, children }: WithCatalogueProps) {
  const { user } = useMe();
  if (hasAccount) return <WithModelsOfAccount>{children}</WithModelsOfAccount>;
  return user.is_operator ? <WithCallableModels>{children}</WithCallableModels> : children;
}

function WithModelsOfAccount({ children }: Readonly<{ children: ReactNode }>) {
  const { data } = useModels();
  const names = useMemo(() => data?.data.map(({ id }) => id) ?? [], [data]);
  return <CatalogueContext value={names}>{children}</CatalogueContext>;
}

const catalogStaleMs = 300_000;

function WithCallableModels({ children }: Readonly<{ children: ReactNode }>) {
  const { data } = useOperatorQuery<CatalogStatus>(['catalog'], { staleTime: catalogStaleMs });
  const names = useMemo(
    () => data?.models.filter((model) => model.is_callable).map(({ id }) => id) ?? [],
    [data],
  );
  return <CatalogueContext value={names}>{children}</CatalogueContext>;
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
      className="m-0 h-dvh max-h-none w-72 max-w-[85vw] animate-slide flex-col overflow-hidden bg-side p-0 text-ink shadow-float open:flex"
    >
      <div className="flex h-13 shrink-0 items-center justify-between pr-3 pl-5">
        <Wordmark />
        <IconButton icon={X} label="Close menu" onClick={onClose} />
      </div>
      <Sidebar />
    </dialog>
  );
}

const retryMs = 5_000;

/** While the gateway is unreachable, the page may be out of date. It is refreshed once the gateway is back. */
function UnreachableNote() {
  const isReachable = useIsReachable();
  const queryClient = useQueryClient();
  useEffect(() => {
    if (isReachable) return undefined;
    const timer = setInterval(() => {
      get('/api/console/sign-in-options').catch(() => {});
    }, retryMs);
    return () => {
      clearInterval(timer);
      queryClient.invalidateQueries().catch(() => {});
    };
  }, [isReachable, queryClient]);
  return (
    <div role="status">
      {!isReachable && (
        <p className="mb-6 flex items-center gap-2.5 rounded-lg border border-line bg-sunken px-3.5 py-2.5 text-ink-soft">
          <WifiOff aria-hidden className="size-4 shrink-0" />
          The gateway cannot be reached. This page may be out of date.
        </p>
      )}
    </div>
  );
}

/** Pages about an account need one. Switching accounts remounts the page, so that it keeps nothing of the previous one. */
export function AccountGate() {
  const { user } = useMe();
  const account = useSelectedAccount();
  const named = useNamedAccount();
  const foreign = useForeignAccount();
  const isNamed = account !== null && account.role !== 'operator' && account.id === named;
  // A link to an account selects it for the pages that name none.
  useEffect(() => {
    if (isNamed) selectAccount(named);
  }, [isNamed, named]);
  if (foreign.id !== null) return <ForeignAccount key={foreign.id} />;
  if (account !== null && named !== undefined && !isNamed) return <ForeignAccountPage />;
  if (account !== null) return <Outlet key={account.id} />;
  return user.is_operator ? <Navigate to="/operator" replace /> : <NoAccountPage />;
}

export function PendingApp() {
  return (
    <Loading className="grid min-h-dvh animate-breathe place-items-center">
      <Wordmark />
    </Loading>
  );
}

export function PendingPage() {
  return <SkeletonLines count={8} />;
}
