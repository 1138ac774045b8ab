/** The marks of an axis that starts at nothing: few, round, and the last of them not below the greatest value. */
const mostMarks = 4;
const roundSteps = [1, 2, 2.5, 5, 10];

export function marksOf(greatest: number, isWhole: boolean): number[] {
  if (!(greatest > 0)) return [0, 1];
  const least = greatest / mostMarks;
  const power = 10 ** Math.floor(Math.log10(least));
  const rounded = (roundSteps.find((step) => step * power >= least * (1 - 1e-9)) ?? 10) * power;
  const step = isWhole ? Math.max(1, Math.ceil(rounded)) : rounded;
  const count = Math.max(1, Math.ceil((greatest / step) * (1 - 1e-9)));
  return Array.from({ length: count + 1 }, (_, at) => cleaned(at * step));
}

/** 0.30000000000000004 is meant to be 0.3. */
function cleaned(value: number): number {
  return Number(value.toPrecision(12));
}

/** Which of the days have their name below the axis: as many as fit, evenly apart, counted back from the last. */
export function namedDays(dayCount: number, mostNames: number): number[] {
  const step = Math.max(1, Math.ceil(dayCount / mostNames));
  const names: number[] = [];
  for (let at = dayCount - 1; at >= 0; at -= step) names.push(at);
  return names.toReversed();
}

const shortMarks = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const longerMarks = new Intl.NumberFormat('en-US', {
  notation: 'compact',
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});
const shortFrom = 10_000;
const plainMarks = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 12, useGrouping: false });

/**
 * Round amounts of money beside an axis, all with as many digits after the point. They say where the lines are, and are
 * nobody's bill.
 */
export function formatMoneyMarks(values: readonly number[]): string[] {
  if (Math.max(...values) >= shortFrom) return formatCountMarks(values).map((mark) => `$${mark}`);
  const needed = Math.max(...values.map(decimalsOf));
  // Cents come in twos.
  const decimals = needed === 1 ? 2 : needed;
  const marks = new Intl.NumberFormat('en-US', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return values.map((value) => `$${marks.format(value)}`);
}

export function formatCountMarks(values: readonly number[]): string[] {
  const short = values.map((value) => shortMarks.format(value));
  if (!short.some((mark) => mark.includes('.'))) return short;
  return values.map((value) => (value === 0 ? '0' : longerMarks.format(value)));
}

function decimalsOf(value: number): number {
  return plainMarks.format(value).split('.')[1]?.length ?? 0;
}
