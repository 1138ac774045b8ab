/** Every path at which the dashboard has a page. The app itself decides who sees what. */
export const appPaths = [
  '/',
  '/sign-in',
  '/sign-up',
  '/forgot-password',
  '/reset-password',
  '/verify-email',
  '/invitation',
  '/keys',
  '/keys/:id',
  '/limits',
  '/models',
  '/models/:id',
  '/requests',
  '/requests/:id',
  '/generations',
  '/generations/:id',
  '/usage',
  '/billing',
  '/billing/statement/:month',
  '/team',
  '/audit-log',
  '/webhooks',
  '/playground',
  '/decisions',
  '/account',
  '/operator',
  '/operator/accounts',
  '/operator/accounts/:id',
  '/operator/users',
  '/operator/providers',
  '/operator/providers/:id',
  '/operator/requests',
  '/operator/requests/:id',
  '/operator/generations',
  '/operator/generations/:id',
  '/operator/catalog',
  '/operator/nodes',
  '/operator/margins',
  '/operator/ledger',
  '/operator/payments',
  '/operator/reconciliation',
  '/operator/tokens',
  '/operator/audit-log',
  '/operator/webhooks',
] as const;

/** Paths for programs, which get errors as JSON. */
const machinePaths = ['/v1', '/admin', '/api', '/assets'];

export function isForPeople(path: string): boolean {
  return !machinePaths.some((prefix) => path === prefix || path.startsWith(`${prefix}/`));
}
