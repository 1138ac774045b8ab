/** What the gateway counts and times. Nothing here names an account or a key: labels are routes, models and providers. */
import type { GenerationSummary } from '../http/context.ts';
import type { CachedTokens } from '../lib/meters.ts';
import {
  Counter,
  type CounterSeries,
  Gauge,
  Histogram,
  type HistogramSeries,
  type Metric,
  maxSeries,
  renderMetrics,
} from './registry.ts';

const durationSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const commitSeconds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const lossReasons = ['usage_missing', 'interrupted', 'implausible_usage', 'insufficient_balance'];
const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128, 256];

type RequestSeries = {
  readonly requests: CounterSeries;
  readonly durations: HistogramSeries;
  /** Only for requests that are charged. */
  charged: Readonly<Record<'inputTokens' | 'outputTokens' | 'cost', CounterSeries>> | null;
};

export class GatewayMetrics {
  readonly #requests = new Counter('tollgate_requests_total', 'Requests that have ended.', [
    'route',
    'model',
    'provider',
    'status',
    'code',
  ]);
  readonly #durations = new Histogram(
    'tollgate_request_duration_seconds',
    'From the arrival of a request to the end of its response.',
    durationSeconds,
    ['route', 'streaming'],
  );
  readonly #firstTokens = new Histogram(
    'tollgate_time_to_first_token_seconds',
    'From the arrival of a request to its first token.',
    durationSeconds,
    ['model'],
  );
  readonly #tokens = new Counter('tollgate_tokens_total', 'Tokens that were charged.', ['model', 'kind']);
  readonly #cachedTokens = new Counter(
    'tollgate_cached_tokens_total',
    'Input tokens that were charged as read from a cache or written to one.',
    ['model', 'kind'],
  );
  readonly #contradictions = new Counter(
    'tollgate_usage_contradictions_total',
    'Usage reports whose counts contradict each other.',
    ['provider'],
  );
  readonly #cost = new Counter('tollgate_cost_usd_total', 'What was charged, in US dollars.', ['model']);
  readonly #holds = new Counter('tollgate_holds_total', 'Holds by outcome: held, or the code of the error.', [
    'outcome',
  ]);
  readonly #writeOffs = new Counter('tollgate_write_offs_total', 'Settlements with a loss, by reason.', [
    'reason',
  ]);
  readonly #uncharged = new Counter(
    'tollgate_uncharged_attempts_total',
    'Calls that a provider may bill although no customer was charged for them.',
    ['provider'],
  );
  readonly #earlyCalls = new Counter(
    'tollgate_early_calls_total',
    'Calls that started before the holds of their requests were committed.',
    ['provider'],
  );
  readonly #cancelledCalls = new Counter(
    'tollgate_early_calls_cancelled_total',
    'Early calls that were cancelled, because nothing or too little was held for them.',
    ['provider'],
  );
  readonly #reloads = new Counter('tollgate_catalog_reloads_total', 'Reloads of the catalogue.', ['outcome']);
  readonly #holdSeconds = new Histogram('tollgate_hold_duration_seconds', 'Time to hold.', commitSeconds);
  readonly #settleSeconds = new Histogram(
    'tollgate_settle_duration_seconds',
    'Time to settle.',
    commitSeconds,
  );
  /** The series that every request adds to, found once. */
  readonly #held = this.#holds.with('held');
  readonly #holdDurations = this.#holdSeconds.with();
  readonly #settleDurations = this.#settleSeconds.with();
  readonly #batchSize = new Histogram(
    'tollgate_ledger_batch_size',
    'Operations that the ledger commits in one transaction.',
    batchSizes,
  );
  readonly #gauges: Metric[] = [];
  /** The series of requests that have the same labels, found with one look-up instead of six. */
  readonly #requestSeries = new Map<string, RequestSeries>();
  #openRequests = 0;
  #openStreams = 0;

  constructor() {
    // A series that first appears at 1 shows no increase.
    for (const reason of lossReasons) this.#writeOffs.add(0, reason);
    for (const outcome of ['loaded', 'rejected']) this.#reloads.add(0, outcome);
    this.gauge('tollgate_open_requests', 'Requests in progress.', () => this.#openRequests);
    this.gauge('tollgate_open_streams', 'Streams in progress.', () => this.#openStreams);
  }

  /** Adds a value that is read at each scrape. */
  gauge(...given: ConstructorParameters<typeof Gauge>): void {
    this.#gauges.push(new Gauge(...given));
  }

  requestStarted(): void {
    this.#openRequests += 1;
  }

  streamStarted(): void {
    this.#openStreams += 1;
  }

  /** For a request that is left out of the statistics. */
  requestUncounted(): void {
    this.#openRequests -= 1;
  }

  requestEnded(
    route: string,
    status: number,
    code: string | null,
    durationMs: number,
    isStream: boolean,
    summary: GenerationSummary | null,
  ): void {
    this.#openRequests -= 1;
    if (isStream) this.#openStreams -= 1;
    const model = summary?.model ?? '';
    const series = this.#seriesOf(route, model, summary?.provider ?? '', `${status}`, code ?? '', isStream);
    series.requests.value += 1;
    series.durations.observe(durationMs / 1000);
    if (summary === null) return;
    if (summary.isContradictory) this.#contradictions.add(1, summary.provider);
    if (summary.lossReason !== null) this.#writeOffs.add(1, summary.lossReason);
    for (const provider of summary.unchargedProviders) this.#uncharged.add(1, provider);
    if (summary.firstTokenMs !== null) this.#firstTokens.observe(summary.firstTokenMs / 1000, model);
    if (summary.costUsd === null) return;
    series.charged ??= {
      inputTokens: this.#tokens.with(model, 'input'),
      outputTokens: this.#tokens.with(model, 'output'),
      cost: this.#cost.with(model),
    };
    series.charged.inputTokens.value += summary.inputTokens;
    series.charged.outputTokens.value += summary.outputTokens;
    series.charged.cost.value += summary.costUsd;
    if (summary.cached !== null) this.#countCached(model, summary.cached);
  }

  #countCached(model: string, { read, write, writeLong }: CachedTokens): void {
    this.#cachedTokens.add(read, model, 'read');
    this.#cachedTokens.add(write, model, 'write');
    this.#cachedTokens.add(writeLong, model, 'write_long');
  }

  #seriesOf(
    route: string,
    model: string,
    provider: string,
    status: string,
    code: string,
    isStream: boolean,
  ): RequestSeries {
    const key = `${route}\0${model}\0${provider}\0${status}\0${code}\0${isStream}`;
    const known = this.#requestSeries.get(key);
    if (known !== undefined) return known;
    const series = {
      requests: this.#requests.with(route, model, provider, status, code),
      durations: this.#durations.with(route, isStream ? 'yes' : 'no'),
      charged: null,
    };
    if (provider !== '') this.#contradictions.add(0, provider);
    if (this.#requestSeries.size < maxSeries) this.#requestSeries.set(key, series);
    return series;
  }

  holdEnded(outcome: string, durationMs: number): void {
    if (outcome === 'held') this.#held.value += 1;
    else this.#holds.add(1, outcome);
    this.#holdDurations.observe(durationMs / 1000);
  }

  settled(durationMs: number): void {
    this.#settleDurations.observe(durationMs / 1000);
  }

  committed(batchSize: number): void {
    this.#batchSize.observe(batchSize);
  }

  earlyCallStarted(provider: string): void {
    this.#earlyCalls.add(1, provider);
    this.#cancelledCalls.add(0, provider);
  }

  earlyCallCancelled(provider: string): void {
    this.#cancelledCalls.add(1, provider);
  }

  catalogReloaded(outcome: 'loaded' | 'rejected'): void {
    this.#reloads.add(1, outcome);
  }

  render(): string {
    return renderMetrics([
      this.#requests,
      this.#durations,
      this.#firstTokens,
      this.#tokens,
      this.#cachedTokens,
      this.#contradictions,
      this.#cost,
      this.#holds,
      this.#holdSeconds,
      this.#settleSeconds,
      this.#batchSize,
      this.#writeOffs,
      this.#uncharged,
      this.#earlyCalls,
      this.#cancelledCalls,
      this.#reloads,
      ...this.#gauges,
    ]);
  }
}
