/** GET /api/console/accounts/{account}/overview: how an account stands, and what needs attention. */
import { lookUp } from '../../http/lookup.ts';
import { readQuery } from '../../http/query.ts';
import { formatMoney } from '../../lib/money.ts';
import { addDays, dayOf } from '../../usage/days.ts';
import { callerOf } from '../access.ts';
import type { Overview } from '../contract.ts';
import type { ConsoleContext } from '../guard.ts';
import { attentionTo, expiryDays, nearLimitPercent } from './attention.ts';
import {
  findAccount,
  findCircuits,
  findRecentRequests,
  findUsedDays,
  findWatchedKeys,
  type UsedDay,
} from './overview-queries.ts';
import { presentDays, presentRecent } from './present.ts';

const shownDays = 30;
/** What was spent and called on these says what to expect of the next. */
const lateDays = 7;

export async function showOverview(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  readQuery(request.url, []);
  const { sql, catalog } = context.services;
  const to = dayOf(new Date());
  const range = { from: addDays(to, 1 - shownDays), to };
  const account = await lookUp('balance_lookup_failed', () => findAccount(sql, caller));
  const watched = { nearLimitPercent, expiryDays };
  const [used, recent, keys, circuits] = await Promise.all([
    lookUp('usage_lookup_failed', () => findUsedDays(sql, caller, range)),
    lookUp('generation_lookup_failed', () => findRecentRequests(sql, caller)),
    lookUp('api_keys_lookup_failed', () => findWatchedKeys(sql, caller, watched)),
    lookUp('model_list_failed', () => findCircuits(sql, caller)),
  ]);
  const late = used.filter(({ day }) => day > addDays(to, -lateDays));
  const { providers } = catalog().catalog;
  return Response.json({
    balance: formatMoney(account.balance),
    held: formatMoney(account.held),
    is_suspended: account.isSuspended,
    days: presentDays(range, used),
    recent: presentRecent(recent),
    attention: attentionTo({
      account,
      dailySpend: late.reduce((sum, { cost }) => sum + cost, 0n) / BigInt(lateDays),
      keys,
      circuits,
      models: modelsOf(late, recent?.models ?? []),
      providerName: (id) => providers.get(id)?.name ?? id,
    }),
  } satisfies Overview);
}

/** Those that were billed for, and those that were only tried. */
function modelsOf(days: readonly UsedDay[], tried: readonly string[]): ReadonlySet<string> {
  return new Set([...days.flatMap(({ models }) => models), ...tried]);
}
