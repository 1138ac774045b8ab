/** LiteLLM's end users belong to no team, so their limits are made in every account. */
import { isLabel, maxEndUserCharacters } from '../lib/labels.ts';
import { type LitellmRows, tableNames } from './litellm-file.ts';
import { limitsIn, plannedLimits } from './litellm-limits.ts';
import type { Here, LitellmChoices, PlannedLimit } from './plan.ts';
import type { Row } from './rows.ts';
import { type DroppedList, spendLimit } from './settings.ts';
import { isTrue, lineOf, textIn } from './values.ts';

/** In all accounts together, and in one, which may have 10,000 limits. */
const maxEndUserLimits = 20_000;
const maxPerAccount = 9_000;

export function endUserLimits(
  rows: LitellmRows,
  accountCount: number,
  choices: LitellmChoices,
  here: Here,
  dropped: DroppedList,
  obstacles: string[],
): PlannedLimit[] {
  const leaveOut = (subject: string, reason: string): PlannedLimit[] => {
    if (choices.dropLimits) dropped.detail(subject, reason);
    else obstacles.push(`${subject}: ${reason}. --drop-limits goes on without.`);
    return [];
  };
  if (!rows.hasCustomers)
    return leaveOut(
      'end users',
      `the file has no ${tableNames.customers} (customers), so their limits are not known`,
    );
  const limits = rows.customers.flatMap((row) => {
    // As requests name them.
    const name = (textIn(row, 'user_id') ?? '').trim();
    const subject = `end user ${lineOf(name) ?? ''}`;
    const planned = limitsOf(row, rows, choices, here);
    if (typeof planned === 'string') return leaveOut(subject, planned);
    if (planned.length > 0 && !isLabel(name, maxEndUserCharacters))
      return leaveOut(subject, 'this name cannot be used');
    return planned.map((limit) => ({ ...limit, endUser: name }));
  });
  if (limits.length * accountCount > maxEndUserLimits || limits.length > maxPerAccount)
    return leaveOut('end users', `${limits.length} limits for each of ${accountCount} accounts are too many`);
  return limits;
}

/** A text says why they cannot be made. */
function limitsOf(
  row: Row,
  rows: LitellmRows,
  choices: LitellmChoices,
  { now }: Here,
): PlannedLimit[] | string {
  // Nothing can be spent for a blocked one.
  if (isTrue(row, 'blocked')) return [spendLimit('spend_per_day', 0n, null)];
  const budget = rows.budgetOf(row);
  if (budget === null) return [];
  if (budget === 'missing') return 'its budget is not in the file';
  const found = limitsIn(new Map([...budget, ['spend', row.get('spend') ?? null]]), null, now);
  const problems = [...found.problems, ...found.lost];
  if (problems.length > 0) return `these have no counterpart: ${problems.join(', ')}`;
  const planned = plannedLimits(found, 'account');
  if (found.lifetime === null) return planned;
  if (!choices.lifetimeAsMonthly) return 'its budget is for life (or use --lifetime-as-monthly)';
  const month = found.spend.get('month') ?? found.lifetime.remaining;
  const least = month < found.lifetime.remaining ? month : found.lifetime.remaining;
  return [
    ...planned.filter(({ kind }) => kind !== 'spend_per_month'),
    spendLimit('spend_per_month', least, found.increase),
  ];
}
