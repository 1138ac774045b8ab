/** The marks of an axis from zero: few and round, with the last one at or above the maximum. */
const maxMarks = 4;
const roundSteps = [1, 2, 2.5, 5, 10];

export function marksOf(max: number, isWhole: boolean): number[] {
  if (!(max > 0)) return [0, 1];
  const minStep = max / maxMarks;
  const power = 10 ** Math.floor(Math.log10(minStep));
  const roundStep = (roundSteps.find((step) => step * power >= minStep * (1 - 1e-9)) ?? 10) * power;
  const step = isWhole ? Math.max(1, Math.ceil(roundStep)) : roundStep;
  const count = Math.max(1, Math.ceil((max / step) * (1 - 1e-9)));
  return Array.from({ length: count + 1 }, (_, at) => rounded(at * step));
}

/** Turns 0.30000000000000004 into 0.3. */
function rounded(value: number): number {
  return Number(value.toPrecision(12));
}

/** Which days are labelled below the axis: as many as fit, evenly spaced, counted back from the last. */
export function namedDays(dayCount: number, maxLabels: number): number[] {
  const step = Math.max(1, Math.ceil(dayCount / maxLabels));
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
 * Labels for round amounts on an axis, all with the same number of decimals.
 */
export function formatMoneyMarks(values: readonly number[]): string[] {
  if (Math.max(...values) >= shortFrom) return formatCountMarks(values).map((mark) => `$${mark}`);
  const needed = Math.max(...values.map(decimalsOf));
  // Amounts in cents have two decimals.
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
  // Below 1.0K there is 500, and not 500.0.
  const wholeBelow = Math.max(...values) >= 1_000 ? 1_000 : 1e-12;
  return values.map((value) => (value < wholeBelow ? shortMarks : longerMarks).format(value));
}

function decimalsOf(value: number): number {
  return plainMarks.format(value).split('.')[1]?.length ?? 0;
}
