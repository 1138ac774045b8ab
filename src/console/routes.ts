/** The routes of the dashboard's own API, and who may call them. */
import type { SQL } from 'bun';
import type { AuditJobs } from '../audit/jobs.ts';
import type { Decider } from '../decisions/decider.ts';
import type { Exports } from '../exports/exports.ts';
import type { Handler } from '../http/context.ts';
import type { DerivedKeys } from '../lib/derived-keys.ts';
import type { Log } from '../lib/log.ts';
import type { Secret } from '../models/provider-key.ts';
import type { Payments } from '../payments/sweep.ts';
import type { Attempts } from '../people/attempts.ts';
import type { InvitationMail } from '../people/invitation-mail.ts';
import type { ResetMail } from '../people/reset-mail.ts';
import type { Sessions } from '../people/sessions.ts';
import type { WelcomeGrants } from '../people/welcome-grant.ts';
import type { ActiveCatalog, FollowedCatalog } from '../routing/active-catalog.ts';
import { accountAuditLogPage } from './audit-log.ts';
import { billingPage } from './billing.ts';
import { billingMonthsPage, monthStatements } from './billing-months.ts';
import { codesPage } from './codes.ts';
import { accountExports, operatorExports } from './exports.ts';
import { findPage, operatorFindPage } from './find.ts';
import { grantsPage } from './grants.ts';
import { createGuard, type Routes } from './guard.ts';
import { invitationsPage } from './invitations.ts';
import { keysPage } from './keys.ts';
import { limitsPage } from './limits.ts';
import { mailChoicesPage } from './mail-choices.ts';
import { mePage, signInOptionsPage } from './me.ts';
import { membersPage } from './members.ts';
import { modelsPage } from './models.ts';
import { accountsPage } from './operator/accounts.ts';
import { auditLogPage } from './operator/audit-log.ts';
import { catalogPage } from './operator/catalog.ts';
import { accountGrantsPage } from './operator/grants.ts';
import { homePage } from './operator/home.ts';
import { ledgerPage } from './operator/ledger.ts';
import { accountLimitsPage } from './operator/limits.ts';
import { marginsPage } from './operator/margins.ts';
import { movementsPage } from './operator/movements.ts';
import { nodesPage } from './operator/nodes.ts';
import { operatorPaymentsPage } from './operator/payments.ts';
import { providerSeriesPage } from './operator/provider-series.ts';
import { providersPage } from './operator/providers.ts';
import { reconciliationPage } from './operator/reconciliation.ts';
import { anyRequestFiguresPage } from './operator/request-figures.ts';
import { anyRequestDownload, anyRequestPage } from './operator/requests.ts';
import { statementPage } from './operator/statement.ts';
import { tokensPage } from './operator/tokens.ts';
import { usersPage } from './operator/users.ts';
import { overviewPage } from './overview.ts';
import { paymentsPage } from './payments.ts';
import { type PlaygroundServices, playgroundPage } from './playground.ts';
import { requestFiguresPage } from './request-figures.ts';
import { requestProblemsPage } from './request-problems.ts';
import { requestsPage } from './requests.ts';
import { requestsDownload } from './requests-csv.ts';
import { topUpsPage } from './top-ups.ts';
import { usageDownload, usagePage } from './usage.ts';
import { accountWebhooksPage, operatorWebhooksPage } from './webhooks.ts';

export type ConsoleServices = Readonly<{
  sql: SQL;
  /** For lists and reports, which may be a few seconds old. */
  reads: () => SQL;
  exports: Exports;
  log: Log;
  sessions: Sessions;
  /** The gateway's address as browsers know it; null when the operator has not configured it. */
  publicUrl: string | null;
  isSignUpOpen: boolean;
  /** Null when the gateway cannot send mail. */
  resetMail: ResetMail | null;
  invitationMail: InvitationMail | null;
  /** How often a client may try something. */
  attempts: Attempts;
  welcome: WelcomeGrants;
  catalog: () => ActiveCatalog;
  catalogFile: string;
  catalogStatus: FollowedCatalog['status'];
  /** Reads a secret such as the admin key of a provider. */
  secret: Secret;
  /** Null when no decision provider is configured. */
  decisions: () => Decider | null;
  /** The ID of this process in the table `nodes`. */
  nodeId: string;
  audits: AuditJobs;
  /** Null when nothing can be paid here. */
  payments: Payments | null;
  /** Whom customers ask for credit; null when the operator has not said. */
  operatorContact: string | null;
  deriveKey: DerivedKeys;
}> &
  PlaygroundServices;

/** `adminDocument` is the text of the OpenAPI document with the admin API. */
export function consoleRoutes(
  services: ConsoleServices,
  adminDocument: () => Promise<string>,
): Routes<Handler> {
  const guard = createGuard(services);
  const cursorKey = services.deriveKey('console cursor');
  return {
    ...guarded(guard.forEveryone, '/api/console', signInOptionsPage(services)),
    ...guarded(guard.forSignedIn, '/api/console', mePage(services)),
    ...guarded(guard.forAccount, '/api/console/accounts/:account', {
      ...findPage(services),
      ...keysPage(services),
      ...limitsPage(services),
      ...membersPage(services),
      ...mailChoicesPage(services),
      ...invitationsPage(services),
      ...modelsPage(services),
      ...overviewPage(services),
      ...requestsPage({ ...services, cursorKey }),
      ...requestFiguresPage(services),
      ...requestProblemsPage(services),
      ...usagePage(services),
      ...billingPage(services),
      ...billingMonthsPage(services),
      ...grantsPage(services),
      ...paymentsPage(services),
      ...topUpsPage(services),
      ...codesPage(services),
      ...accountAuditLogPage(services),
      ...accountWebhooksPage(services),
    }),
    ...guarded(guard.forAccountAtLength, '/api/console/accounts/:account', {
      ...usageDownload(services),
      ...monthStatements(services),
      ...requestsDownload(services),
      ...accountExports(services),
      ...playgroundPage(services),
    }),
    ...guarded(guard.forOperatorsAtLength, '/api/console/operator', {
      ...operatorExports(services),
      ...anyRequestDownload(services),
    }),
    ...guarded(guard.forOperators, '/api/console/operator', {
      ...operatorFindPage(services),
      ...accountsPage(services),
      ...accountLimitsPage(services),
      ...movementsPage(services),
      ...accountGrantsPage(services),
      ...operatorPaymentsPage(services),
      ...statementPage(services),
      ...usersPage(services),
      ...tokensPage(services, adminDocument),
      ...homePage(services),
      ...providersPage(services),
      ...providerSeriesPage(services),
      ...catalogPage(services),
      ...nodesPage(services),
      ...anyRequestPage({ ...services, cursorKey }),
      ...anyRequestFiguresPage(services),
      ...ledgerPage(services),
      ...reconciliationPage(services),
      ...marginsPage(services),
      ...auditLogPage(services),
      ...operatorWebhooksPage(services),
    }),
  };
}

function guarded<PageHandler>(
  guard: (handler: PageHandler) => Handler,
  prefix: string,
  page: Routes<PageHandler>,
): Routes<Handler> {
  return Object.fromEntries(
    Object.entries(page).map(([path, methods]) => [
      prefix + path,
      Object.fromEntries(Object.entries(methods).map(([method, handler]) => [method, guard(handler)])),
    ]),
  );
}
