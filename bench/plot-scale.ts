/** Where the ticks of an axis are, what they are labelled, and where a value lies between them. */
export type Tick = Readonly<{ value: number; text: string }>;
export type Scale = (value: number) => number;

/** Every power of the base from one below all values to one above them. */
export function powerTicks(values: readonly number[], base: 2 | 10): Tick[] {
  // Rounding must not turn an exact power into a little more or less.
  const exponent = (value: number) => Math.round((Math.log(value) / Math.log(base)) * 1e9) / 1e9;
  const first = Math.floor(exponent(Math.min(...values)));
  const last = Math.max(first + 1, Math.ceil(exponent(Math.max(...values))));
  return Array.from({ length: last - first + 1 }, (_, index) => tick(base ** (first + index)));
}

/** About five round numbers from zero to a little more than the highest value. */
export function niceTicks(max: number): Tick[] {
  const rough = (max > 0 ? max : 1) / 5;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = magnitude * ([1, 2, 5].find((factor) => factor * magnitude >= rough) ?? 10);
  const count = Math.max(1, Math.ceil(max / step));
  return Array.from({ length: count + 1 }, (_, index) => tick(index * step));
}

function tick(value: number): Tick {
  const [divisor, suffix] = value >= 1e6 ? [1e6, ' M'] : value >= 1e4 ? [1e3, ' k'] : [1, ''];
  const text = (value / divisor).toLocaleString('en-US', { maximumSignificantDigits: 3 });
  return { value, text: `${text}${suffix}` };
}

/** From the first tick at `start` to the last at `end`. */
export function scaleOf(ticks: readonly Tick[], kind: 'linear' | 'log', start: number, end: number): Scale {
  const place = kind === 'log' ? Math.log : (value: number) => value;
  const first = place(ticks[0]?.value ?? Number.NaN);
  const last = place(ticks.at(-1)?.value ?? Number.NaN);
  return (value) => start + ((place(value) - first) / (last - first)) * (end - start);
}
