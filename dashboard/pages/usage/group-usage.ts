/** The rows of a usage answer, added up by what they have in common. */
import type { Usage, UsageFigures } from '../../../src/console/contract.ts';
import { compareMoneyDown, sumMoney } from '../../kit/sum-money.ts';

type UsageRow = Usage['rows'][number];

export type Dimension = 'model' | 'key' | 'day';
export type UsageGroup = UsageFigures & Readonly<{ id: string; label: string }>;

/** The costliest first, and days with the newest first. */
export function groupUsage(rows: readonly UsageRow[], by: Dimension): UsageGroup[] {
  const groups = [...Map.groupBy(rows, (row) => idOf(row, by))].map(([id, members]) => ({
    id,
    label: labelOf(members[0], by),
    ...addUp(members),
  }));
  return by === 'day'
    ? groups.toSorted((left, right) => (left.id < right.id ? 1 : -1))
    : groups.toSorted(
        (left, right) => compareMoneyDown(left.cost, right.cost) || right.requests - left.requests,
      );
}

export function addUp(rows: readonly UsageFigures[]): UsageFigures {
  const sum = (figureOf: (row: UsageFigures) => number) =>
    rows.reduce((total, row) => total + figureOf(row), 0);
  return {
    requests: sum(({ requests }) => requests),
    input_tokens: sum(({ input_tokens: tokens }) => tokens),
    output_tokens: sum(({ output_tokens: tokens }) => tokens),
    images: sum(({ images }) => images),
    cost: sumMoney(rows.map(({ cost }) => cost)),
  };
}

function idOf(row: UsageRow, by: Dimension): string {
  return by === 'model' ? row.model : by === 'key' ? row.key_id : row.day;
}

function labelOf(row: UsageRow | undefined, by: Dimension): string {
  if (row === undefined) return '';
  return by === 'model' ? row.model : by === 'key' ? row.key_name : row.day;
}
