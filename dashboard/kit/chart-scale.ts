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
const exactMarks = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

/** A round amount of money beside an axis. It says where a line is, and is nobody's bill. */
export function formatMoneyMark(value: number): string {
  return `$${(value >= 10_000 ? shortMarks : exactMarks).format(value)}`;
}
