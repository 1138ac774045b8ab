/**
 * Counters, histograms and gauges in Prometheus' text format. Our own, because the request path can then keep a series
 * at hand and add to it without building and hashing an object of labels each time.
 */

/** A metric whose labels take more combinations than this has a bug; the rest is counted together. */
export const maxSeries = 10_000;
const overflowLabel = '(other)';

abstract class Family<Series> {
  readonly name: string;
  readonly #help: string;
  readonly #type: string;
  readonly #labels: readonly string[];
  readonly #series = new Map<string, Series>();

  constructor(name: string, help: string, type: string, labels: readonly string[]) {
    this.name = name;
    this.#help = help;
    this.#type = type;
    this.#labels = labels;
  }

  /** The series with these values, in the order of the labels. */
  with(...values: string[]): Series {
    const key = values.length === 1 ? (values[0] ?? '') : values.join('\u0000');
    return this.#series.get(key) ?? this.#add(key, values);
  }

  #add(key: string, values: readonly string[]): Series {
    if (this.#series.size >= maxSeries && values[0] !== overflowLabel)
      return this.with(...this.#labels.map(() => overflowLabel));
    const pairs = this.#labels.map((label, index) => `${label}="${escapeLabel(values[index] ?? '')}"`);
    const series = this.create(pairs.join(','));
    this.#series.set(key, series);
    return series;
  }

  render(): string {
    let text = `# HELP ${this.name} ${escapeHelp(this.#help)}\n# TYPE ${this.name} ${this.#type}\n`;
    for (const series of this.#series.values()) text += this.print(series);
    return text;
  }

  protected abstract create(labels: string): Series;
  protected abstract print(series: Series): string;
}

export type CounterSeries = { readonly labels: string; value: number };

export class Counter extends Family<CounterSeries> {
  constructor(name: string, help: string, labels: readonly string[] = []) {
    super(name, help, 'counter', labels);
    if (labels.length === 0) this.with();
  }

  add(amount: number, ...values: string[]): void {
    this.with(...values).value += amount;
  }

  protected create(labels: string): CounterSeries {
    return { labels, value: 0 };
  }

  protected print({ labels, value }: CounterSeries): string {
    return sample(this.name, labels, value);
  }
}

export class HistogramSeries {
  readonly labels: string;
  readonly bounds: readonly number[];
  /** One for each bound, and one for what is above the last. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(labels: string, bounds: readonly number[]) {
    this.labels = labels;
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index += 1;
    counts[index] = (counts[index] as number) + 1;
    this.sum += value;
  }
}

export class Histogram extends Family<HistogramSeries> {
  readonly #bounds: readonly number[];

  constructor(name: string, help: string, bounds: readonly number[], labels: readonly string[] = []) {
    super(name, help, 'histogram', labels);
    this.#bounds = bounds;
    if (labels.length === 0) this.with();
  }

  observe(value: number, ...values: string[]): void {
    this.with(...values).observe(value);
  }

  protected create(labels: string): HistogramSeries {
    return new HistogramSeries(labels, this.#bounds);
  }

  protected print({ labels, bounds, counts, sum }: HistogramSeries): string {
    let text = '';
    let below = 0;
    const prefix = labels === '' ? '' : `${labels},`;
    counts.forEach((count, index) => {
      below += count;
      text += sample(`${this.name}_bucket`, `${prefix}le="${bounds[index] ?? '+Inf'}"`, below);
    });
    return text + sample(`${this.name}_sum`, labels, sum) + sample(`${this.name}_count`, labels, below);
  }
}

/** A value that is read when it is asked for: one number, or one for each value of a label. */
export class Gauge {
  readonly name: string;
  readonly #help: string;
  readonly #label: string;
  readonly #read: () => number | null | Iterable<readonly [string, number]>;
  readonly #type: 'gauge' | 'counter';

  constructor(
    name: string,
    help: string,
    read: () => number | null | Iterable<readonly [string, number]>,
    { label = '', type = 'gauge' }: Readonly<{ label?: string; type?: 'gauge' | 'counter' }> = {},
  ) {
    this.name = name;
    this.#help = help;
    this.#read = read;
    this.#label = label;
    this.#type = type;
  }

  render(): string {
    const head = `# HELP ${this.name} ${escapeHelp(this.#help)}\n# TYPE ${this.name} ${this.#type}\n`;
    const value = this.#read();
    if (value === null) return head;
    if (typeof value === 'number') return head + sample(this.name, '', value);
    let text = head;
    for (const [of, amount] of value)
      text += sample(this.name, `${this.#label}="${escapeLabel(of)}"`, amount);
    return text;
  }
}

export type Metric = Readonly<{ name: string; render: () => string }>;

export function renderMetrics(metrics: readonly Metric[]): string {
  return metrics.map((metric) => metric.render()).join('');
}

function sample(name: string, labels: string, value: number): string {
  return labels === '' ? `${name} ${printed(value)}\n` : `${name}{${labels}} ${printed(value)}\n`;
}

function printed(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
