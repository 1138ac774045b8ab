/** Every route of the dashboard's own API on one screen. */
import type { Handler } from '../http/context.ts';
import { showStatement } from './billing/handler.ts';
import { listGenerations, showGeneration } from './generations/handler.ts';
import { forOperators, forSignedIn, forSignedInAtLength } from './guard.ts';
import { changeKey, createKey, listKeys, replaceKey, revokeKey } from './keys/handler.ts';
import { showMe } from './me/handler.ts';
import { changeMember, listMembers, removeMember } from './members/handler.ts';
import { listModels } from './models/handler.ts';
import {
  createAccount,
  creditAccount,
  listAccounts,
  resumeAccount,
  suspendAccount,
} from './operator/accounts/handler.ts';
import { listActions } from './operator/actions/handler.ts';
import { showCatalog } from './operator/catalog/handler.ts';
import { showAnyGeneration } from './operator/generations/handler.ts';
import { listDeadLetters, runAudit } from './operator/ledger/handler.ts';
import { listNodes } from './operator/nodes/handler.ts';
import { listProviders } from './operator/providers/handler.ts';
import {
  addMembership,
  changeUser,
  createResetLink,
  createUser,
  listUsers,
  signUserOut,
} from './operator/users/handler.ts';
import { showOverview } from './overview/handler.ts';
import { chatInPlayground } from './playground/handler.ts';
import { showSignInOptions } from './sign-in-options/handler.ts';
import { downloadUsage, showUsage } from './usage/handler.ts';

type Methods = Partial<Record<'GET' | 'POST' | 'PATCH' | 'DELETE', Handler>>;

type Routes = Readonly<Record<string, Methods>>;

const account = '/api/console/accounts/:account';
const operator = '/api/console/operator';

export const consoleRoutes: Routes = {
  '/api/console/sign-in-options': { GET: showSignInOptions },
  '/api/console/me': { GET: forSignedIn(showMe) },
  [`${account}/keys`]: { GET: forSignedIn(listKeys), POST: forSignedIn(createKey) },
  [`${account}/keys/:key`]: { PATCH: forSignedIn(changeKey) },
  [`${account}/keys/:key/replace`]: { POST: forSignedIn(replaceKey) },
  [`${account}/keys/:key/revoke`]: { POST: forSignedIn(revokeKey) },
  [`${account}/members`]: { GET: forSignedIn(listMembers) },
  [`${account}/members/:user`]: { PATCH: forSignedIn(changeMember), DELETE: forSignedIn(removeMember) },
  [`${account}/models`]: { GET: forSignedIn(listModels) },
  [`${account}/overview`]: { GET: forSignedIn(showOverview) },
  [`${account}/generations`]: { GET: forSignedIn(listGenerations) },
  [`${account}/generations/:generation`]: { GET: forSignedIn(showGeneration) },
  [`${account}/usage`]: { GET: forSignedIn(showUsage) },
  [`${account}/usage.csv`]: { GET: forSignedInAtLength(downloadUsage) },
  [`${account}/playground/chat`]: { POST: forSignedInAtLength(chatInPlayground) },
  [`${account}/ledger`]: { GET: forSignedIn(showStatement) },
  [`${operator}/accounts`]: { GET: forOperators(listAccounts), POST: forOperators(createAccount) },
  [`${operator}/accounts/:account/credit`]: { POST: forOperators(creditAccount) },
  [`${operator}/accounts/:account/suspend`]: { POST: forOperators(suspendAccount) },
  [`${operator}/accounts/:account/resume`]: { POST: forOperators(resumeAccount) },
  [`${operator}/users`]: { GET: forOperators(listUsers), POST: forOperators(createUser) },
  [`${operator}/users/:user`]: { PATCH: forOperators(changeUser) },
  [`${operator}/users/:user/memberships`]: { POST: forOperators(addMembership) },
  [`${operator}/users/:user/reset-link`]: { POST: forOperators(createResetLink) },
  [`${operator}/users/:user/sign-out`]: { POST: forOperators(signUserOut) },
  [`${operator}/providers`]: { GET: forOperators(listProviders) },
  [`${operator}/catalog`]: { GET: forOperators(showCatalog) },
  [`${operator}/nodes`]: { GET: forOperators(listNodes) },
  [`${operator}/generations/:generation`]: { GET: forOperators(showAnyGeneration) },
  [`${operator}/ledger-audit`]: { POST: forOperators(runAudit) },
  [`${operator}/dead-letters`]: { GET: forOperators(listDeadLetters) },
  [`${operator}/actions`]: { GET: forOperators(listActions) },
};
