/** `tollgate reconcile` compares a provider's bill with what was recorded as cost. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { recordChange } from '../audit-log/audit-log.ts';
import type { Config } from '../config.ts';
import { explainFileError } from '../lib/file-error.ts';
import { formatMoney, formatMoneyShort, type Money } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { CatalogError, readCatalogFile } from '../models/catalog-store.ts';
import type { Catalog, Provider } from '../models/model.ts';
import { type Bill, BillError } from '../reconciliation/bill.ts';
import { maxFileBytes, readBillFile } from '../reconciliation/bill-file.ts';
import type { ComparedDay } from '../reconciliation/compared.ts';
import { fetchBillOf, reconcile } from '../reconciliation/reconcile.ts';
import { presentExplanation, presentModel } from '../reconciliation/store.ts';
import { describeExplanation } from '../reconciliation/words.ts';
import { countDays, dayOf } from '../usage/days.ts';
import { type Arguments, readTime, UsageError } from './arguments.ts';
import { type DatabaseCommand, formatTable, type Outcome } from './command.ts';
import { shellActor, shellUserOf } from './shell-user.ts';

const maxDays = 366;
/** No record is older, and the database knows no year 0. */
const firstDay = '2000-01-01';

export const reconcileCommand: DatabaseCommand = {
  name: 'reconcile',
  summary:
    "Compare what a provider billed with the metered cost, by UTC day and model. The bill comes from the provider's report of costs, or from a CSV file with the columns day, model, amount. Exit 0 only if every day is within the tolerance.",
  options: [
    { name: 'provider', value: 'NAME', required: true },
    { name: 'from', value: 'DAY', required: true },
    { name: 'to', value: 'DAY', required: true },
    { name: 'file', value: 'CSV' },
  ],
  run: async (sql, words, config) => {
    const { from, to } = readDays(words);
    const { catalog, provider } = await findProvider(config, words.text('provider') ?? '');
    const file = words.text('file');
    const shellUser = shellUserOf(config);
    const readBill = async (): Promise<Bill> => {
      const bill =
        file === null
          ? await fetchBillOf(provider, config.secret, from, to, new AbortController().signal)
          : readFile(resolve(file), from, to);
      // Recorded beforehand, because the bill and its comparison are stored in transactions of their own.
      await recordChange(sql, shellActor(config), {
        action: 'reconcile_bill',
        object: { type: 'provider', id: provider.id },
        after: { from, to, source: bill.source },
      });
      return bill;
    };
    const order = { catalog, provider, from, to, requestedBy: shellUser };
    const { bill, days } = await reconcile(sql, order, readBill, new Date());
    return present(provider.id, bill, days);
  },
};

function readDays(words: Arguments): Readonly<{ from: string; to: string }> {
  const read = (name: string) => {
    const text = words.text(name) ?? '';
    if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text < firstDay)
      throw new UsageError(`--${name} must be a day such as 2027-01-31, but is "${text}".`);
    return dayOf(readTime(text, `--${name}`));
  };
  const [from, to] = [read('from'), read('to')];
  if (from > to) throw new UsageError('--from must not be after --to.');
  if (to > dayOf(new Date())) throw new UsageError('--to must not be in the future.');
  if (countDays(from, to) > maxDays) throw new UsageError(`At most ${maxDays} days can be compared at once.`);
  return { from, to };
}

async function findProvider(
  { catalogFile }: Config,
  id: string,
): Promise<Readonly<{ catalog: Catalog; provider: Provider }>> {
  const { result } = await readCatalogFile(catalogFile);
  if (!result.ok) throw new CatalogError(result.problems);
  const { catalog } = result;
  const provider = catalog.providers.get(id);
  if (provider !== undefined) return { catalog, provider };
  throw new OperatorError(
    `The catalogue has no provider "${id}". It has: ${[...catalog.providers.keys()].join(', ')}.`,
  );
}

function readFile(path: string, from: string, to: string): Bill {
  let text: string;
  try {
    if (statSync(path).size > maxFileBytes) throw new BillError(`${path} is larger than 32 MB.`);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw error instanceof BillError ? error : explainFileError(error, path, 'read');
  }
  const bill = readBillFile(text, from, to);
  if (bill.days.size === 0) throw new BillError(`${path} has no line for these days.`);
  return bill;
}

function present(provider: string, bill: Bill, days: readonly ComparedDay[]): Outcome {
  const isWithin = days.every((day) => day.isWithin === true);
  return {
    json: {
      provider,
      source: bill.source,
      refreshed_at: bill.refreshedAt?.toISOString() ?? null,
      is_within: isWithin,
      days: days.map(presentDay),
      notes: bill.notes,
    },
    text: [
      formatDays(days),
      ...days.flatMap(describeDay),
      isWithin ? 'Every day is within the tolerance.' : 'Not every day is within the tolerance.',
    ].join('\n'),
    warnings: bill.notes,
    exitCode: isWithin ? 0 : 1,
  };
}

function presentDay(day: ComparedDay) {
  return {
    day: day.day,
    charged: formatMoney(day.charged),
    metered: formatMoney(day.metered),
    uncharged: formatMoney(day.uncharged),
    billed: day.billed === null ? null : formatMoney(day.billed),
    difference: day.difference === null ? null : formatMoney(day.difference),
    tolerance: formatMoney(day.tolerance),
    is_within: day.isWithin,
    is_preliminary: day.isPreliminary,
    models: day.models.map(presentModel),
    explanations: day.explanations.map((explanation) => {
      const presented = presentExplanation(explanation);
      return { ...presented, text: describeExplanation(presented) };
    }),
  };
}

function formatDays(days: readonly ComparedDay[]): string {
  const sum = (of: (day: ComparedDay) => Money | null) =>
    days.reduce((total, day) => total + (of(day) ?? 0n), 0n);
  const isWhole = days.every(({ billed }) => billed !== null);
  const rows = days.map((day) => [
    day.day,
    formatMoneyShort(day.charged),
    formatMoneyShort(day.metered),
    amountOrDash(day.billed),
    amountOrDash(day.difference),
    resultOf(day),
  ]);
  const totals = [
    'Total',
    formatMoneyShort(sum(({ charged }) => charged)),
    formatMoneyShort(sum(({ metered }) => metered)),
    isWhole ? formatMoneyShort(sum(({ billed }) => billed)) : '-',
    isWhole ? formatMoneyShort(sum(({ difference }) => difference)) : '-',
    '',
  ];
  const headings = ['Day', 'Charged', 'Metered cost', 'Billed', 'Difference', 'Result'];
  return formatTable(headings, days.length > 1 ? [...rows, totals] : rows);
}

const amountOrDash = (money: Money | null) => (money === null ? '-' : formatMoneyShort(money));

function resultOf({ isWithin, isPreliminary }: ComparedDay): string {
  if (isWithin === null) return 'no bill';
  return `${isWithin ? 'within tolerance' : 'DIFFERENT'}${isPreliminary ? ' (preliminary)' : ''}`;
}

/** The models and explanations of a day that is not within the tolerance. */
function describeDay({ day, isWithin, models, explanations }: ComparedDay): string[] {
  if (isWithin !== false) return [];
  const different = models.filter((model) => !model.isWithin);
  const rows = different.map(({ name, metered, billed, difference }) => [
    `  ${name}`,
    formatMoneyShort(metered),
    formatMoneyShort(billed),
    formatMoneyShort(difference),
  ]);
  return [
    '',
    `${day}:`,
    ...(rows.length === 0 ? [] : [formatTable(['  Model', 'Metered cost', 'Billed', 'Difference'], rows)]),
    ...(explanations.length === 0
      ? ['  No explanation is known. Other programs may use the same organisation.']
      : explanations.map((explanation) => `  - ${describeExplanation(presentExplanation(explanation))}`)),
    '',
  ];
}
