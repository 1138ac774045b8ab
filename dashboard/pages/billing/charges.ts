/** What the requests of a month were charged, by model, key or day, and where the requests of each are. */
import type { Charged, MonthDetail } from '../../../src/console/billing-contract.ts';
import { subtractMoney, sumMoney } from '../../kit/amounts.ts';
import { formatDay } from '../../kit/format-figures.ts';
import { timesOfDay, timesOfMonth } from './month-words.ts';

export const chargeGroups = [
  { value: 'model', label: 'By model', name: 'Model' },
  { value: 'key', label: 'By key', name: 'Key' },
  { value: 'day', label: 'By day', name: 'Day (UTC)' },
] as const;
export type ChargeGroup = (typeof chargeGroups)[number]['value'];

export type ChargedRow = Charged &
  Readonly<{
    id: string;
    name: string;
    /** Of the list of its requests; null if that cannot be narrowed to them. */
    search: Readonly<Record<string, string>> | null;
  }>;

export type Charges = Readonly<{ header: string; rows: readonly ChargedRow[]; total: Charged }>;

export function chargesOf(month: string, detail: MonthDetail, group: ChargeGroup): Charges {
  const rows = rowsOf(month, detail, group);
  const header = chargeGroups.find(({ value }) => value === group)?.name ?? '';
  return { header, rows, total: totalOf(rows) };
}

function rowsOf(month: string, detail: MonthDetail, group: ChargeGroup): ChargedRow[] {
  const times = timesOfMonth(month);
  switch (group) {
    case 'model':
      return detail.by_model.map(({ model, ...row }) => ({
        ...row,
        id: model ?? '',
        name: model === null ? 'All other models' : model || 'Unknown',
        search: model === null || model === '' ? null : { ...times, model },
      }));
    case 'key':
      return detail.by_key.map(({ key_id: id, key_name: name, ...row }) => ({
        ...row,
        id: id ?? '',
        name: id === null ? 'All other keys' : (name ?? 'Unknown'),
        search: id === null || name === null ? null : { ...times, key: id },
      }));
    case 'day':
      return detail.by_day.map(({ day, ...row }) => ({
        ...row,
        id: day,
        name: formatDay(day),
        search: timesOfDay(day),
      }));
  }
}

export function netOf({ charged, refunded }: Charged): string {
  return subtractMoney(charged, refunded);
}

function totalOf(rows: readonly Charged[]): Charged {
  return {
    requests: rows.reduce((sum, { requests }) => sum + requests, 0),
    charged: sumMoney(rows.map(({ charged }) => charged)),
    refunded: sumMoney(rows.map(({ refunded }) => refunded)),
  };
}
