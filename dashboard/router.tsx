/** All pages of the app on one screen. Each is loaded when it is first needed. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  notFound,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { parseSearch, type Search, stringifySearch } from './address.ts';
import { ApiProblem, queryClient } from './api/client.ts';
import { accountIdFor, meQuery, signInOptionsQuery } from './api/session.ts';
import { AccountGate, AppLayout, PendingApp, PendingPage } from './layout/app-layout.tsx';
import { BrokenPage, NotFoundPage } from './layout/fallback-pages.tsx';
import { MissingPage } from './layout/missing-page.tsx';
import { SignedOutLayout } from './layout/signed-out.tsx';
import { lazyPage as lazy } from './lazy-page.ts';
import { searchOfOldList } from './old-addresses.ts';

const root = createRootRoute({ component: Outlet, notFoundComponent: MissingPage });

const open = createRoute({
  getParentRoute: () => root,
  id: 'signed-out',
  component: SignedOutLayout,
  // The pages fetch it too, and show the error if it fails.
  loader: () => queryClient.prefetchQuery(signInOptionsQuery),
});

async function requireSession({ location }: Readonly<{ location: Readonly<{ href: string }> }>) {
  try {
    return { me: await queryClient.ensureQueryData(meQuery) };
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 401)
      throw redirect({ to: '/sign-in', search: { next: location.href } });
    throw error;
  }
}

const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: AppLayout,
  pendingComponent: PendingApp,
  beforeLoad: requireSession,
});

/** Addresses of pages about an account name it, so that a link leads others to the same one. */
const accountSearch = {
  middlewares: [
    ({ search, next }: Readonly<{ search: object; next: (search: never) => object }>) => {
      const { account: named, ...rest } = next(search as never) as Search;
      return { ...rest, account: named ?? accountIdFor((search as Search).account) };
    },
  ],
};

type Place = Readonly<{
  location: Readonly<{ href: string; pathname: string; search: object; hash: string }>;
}>;

function nameAccount({ location: { pathname, search, hash } }: Place): void {
  const given = search as Search;
  const account = accountIdFor(undefined);
  if (given.account === undefined && account !== undefined)
    throw redirect({ to: pathname, search: { ...given, account }, hash, replace: true });
}

const ofAccount = createRoute({
  getParentRoute: () => signedIn,
  id: 'of-account',
  component: AccountGate,
  search: accountSearch,
  beforeLoad: nameAccount,
});

/** To be printed: without the menus. */
const onPaper = createRoute({
  getParentRoute: () => root,
  id: 'on-paper',
  component: AccountGate,
  pendingComponent: PendingApp,
  search: accountSearch,
  beforeLoad: async (place) => {
    const session = await requireSession(place);
    nameAccount(place);
    return session;
  },
});

const ofOperator = createRoute({
  getParentRoute: () => signedIn,
  path: 'operator',
  component: Outlet,
  beforeLoad: ({ context }) => {
    if (!context.me.user.is_operator) throw notFound();
  },
});

// biome-ignore format: one line per page makes this table readable.
const tree = root.addChildren([
  open.addChildren([
    createRoute({ getParentRoute: () => open, path: 'sign-in', component: lazy(() => import('./pages/signed-out/sign-in-page.tsx'), 'SignInPage') }),
    createRoute({ getParentRoute: () => open, path: 'sign-up', component: lazy(() => import('./pages/signed-out/sign-up-page.tsx'), 'SignUpPage') }),
    createRoute({ getParentRoute: () => open, path: 'forgot-password', component: lazy(() => import('./pages/signed-out/forgot-password-page.tsx'), 'ForgotPasswordPage') }),
    createRoute({ getParentRoute: () => open, path: 'reset-password', component: lazy(() => import('./pages/signed-out/reset-password-page.tsx'), 'ResetPasswordPage') }),
    createRoute({ getParentRoute: () => open, path: 'verify-email', component: lazy(() => import('./pages/signed-out/verify-email-page.tsx'), 'VerifyEmailPage') }),
    createRoute({ getParentRoute: () => open, path: 'invitation', component: lazy(() => import('./pages/signed-out/invitation-page.tsx'), 'InvitationPage') }),
  ]),
  onPaper.addChildren([
    createRoute({ getParentRoute: () => onPaper, path: 'billing/statement/$month', component: lazy(() => import('./pages/billing/printed-statement-page.tsx'), 'PrintedStatementPage') }),
  ]),
  signedIn.addChildren([
    ofAccount.addChildren([
      createRoute({ getParentRoute: () => ofAccount, path: '/', component: lazy(() => import('./pages/overview/overview-page.tsx'), 'OverviewPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'keys', component: lazy(() => import('./pages/keys/keys-page.tsx'), 'KeysPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'keys/$id', component: lazy(() => import('./pages/keys/key-page.tsx'), 'KeyPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'limits', component: lazy(() => import('./pages/limits/limits-page.tsx'), 'LimitsPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'models', component: lazy(() => import('./pages/models/models-page.tsx'), 'ModelsPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'models/$id', component: lazy(() => import('./pages/models/model-page.tsx'), 'ModelPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'requests', component: lazy(() => import('./pages/requests/requests-page.tsx'), 'RequestsPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'requests/$id', component: lazy(() => import('./pages/requests/request-page.tsx'), 'RequestPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'generations', beforeLoad: ({ search }) => { throw redirect({ to: '/requests', search: searchOfOldList(search), replace: true }); } }),
      createRoute({ getParentRoute: () => ofAccount, path: 'generations/$id', beforeLoad: ({ params }) => { throw redirect({ to: '/requests/$id', params, replace: true }); } }),
      createRoute({ getParentRoute: () => ofAccount, path: 'usage', component: lazy(() => import('./pages/usage/usage-page.tsx'), 'UsagePage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'billing', component: lazy(() => import('./pages/billing/billing-page.tsx'), 'BillingPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'team', component: lazy(() => import('./pages/team/team-page.tsx'), 'TeamPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'audit-log', component: lazy(() => import('./pages/audit-log/audit-log-page.tsx'), 'AuditLogPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'webhooks', component: lazy(() => import('./pages/webhooks/webhooks-page.tsx'), 'WebhooksPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'playground', component: lazy(() => import('./pages/playground/playground-page.tsx'), 'PlaygroundPage') }),
      createRoute({ getParentRoute: () => ofAccount, path: 'decisions', component: lazy(() => import('./pages/decisions/decisions-page.tsx'), 'DecisionsPage') }),
    ]),
    createRoute({ getParentRoute: () => signedIn, path: 'account', component: lazy(() => import('./pages/account/account-page.tsx'), 'AccountPage') }),
    ofOperator.addChildren([
      createRoute({ getParentRoute: () => ofOperator, path: '/', component: lazy(() => import('./pages/operator/home/home-page.tsx'), 'OperatorHomePage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'accounts', component: lazy(() => import('./pages/operator/accounts/accounts-page.tsx'), 'OperatorAccountsPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'accounts/$id', component: lazy(() => import('./pages/operator/accounts/account-page.tsx'), 'OperatorAccountPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'users', component: lazy(() => import('./pages/operator/users/users-page.tsx'), 'OperatorUsersPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'providers', component: lazy(() => import('./pages/operator/providers/providers-page.tsx'), 'OperatorProvidersPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'providers/$id', component: lazy(() => import('./pages/operator/providers/provider-page.tsx'), 'OperatorProviderPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'requests', component: lazy(() => import('./pages/operator/requests/requests-page.tsx'), 'OperatorRequestsPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'requests/$id', component: lazy(() => import('./pages/operator/requests/request-page.tsx'), 'OperatorRequestPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'generations', beforeLoad: ({ search }) => { throw redirect({ to: '/operator/requests', search: searchOfOldList(search), replace: true }); } }),
      createRoute({ getParentRoute: () => ofOperator, path: 'generations/$id', beforeLoad: ({ params }) => { throw redirect({ to: '/operator/requests/$id', params, replace: true }); } }),
      createRoute({ getParentRoute: () => ofOperator, path: 'catalog', component: lazy(() => import('./pages/operator/catalog/catalog-page.tsx'), 'OperatorCatalogPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'nodes', component: lazy(() => import('./pages/operator/nodes/nodes-page.tsx'), 'OperatorNodesPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'margins', component: lazy(() => import('./pages/operator/margins/margins-page.tsx'), 'OperatorMarginsPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'ledger', component: lazy(() => import('./pages/operator/ledger/ledger-page.tsx'), 'OperatorLedgerPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'payments', component: lazy(() => import('./pages/operator/payments/payments-page.tsx'), 'OperatorPaymentsPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'reconciliation', component: lazy(() => import('./pages/operator/reconciliation/reconciliation-page.tsx'), 'OperatorReconciliationPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'tokens', component: lazy(() => import('./pages/operator/tokens/tokens-page.tsx'), 'OperatorTokensPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'webhooks', component: lazy(() => import('./pages/operator/webhooks/webhooks-page.tsx'), 'OperatorWebhooksPage') }),
      createRoute({ getParentRoute: () => ofOperator, path: 'audit-log', component: lazy(() => import('./pages/operator/audit-log/audit-log-page.tsx'), 'OperatorAuditLogPage') }),
    ]),
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  // The data comes from the query cache, which decides itself when it is stale.
  defaultPreloadStaleTime: 0,
  defaultPendingMs: 500,
  defaultPendingComponent: PendingPage,
  defaultErrorComponent: BrokenPage,
  defaultNotFoundComponent: NotFoundPage,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
