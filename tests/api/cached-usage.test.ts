/**
 * Input that providers read from a cache or wrote to one, in every wire format and every form of price, charged to the last
 * digit: what the client is told, what the ledger has, and what the operator sees of counts that contradict each other.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { formatMoney, parseMoney } from '../../src/lib/money.ts';
import { type ChatFixture, type Chunk, eventsOf, openChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';
import { readSamples } from '../support/metrics.ts';
import { adapterOf, type Format, formats as names, pathOf, routeTo } from '../support/provider-faults.ts';

/** Fresh, read, written, written for long, output: US dollars per 1M tokens, most with more digits than can be exact. */
type Prices = readonly [string, string, string, string, string];
const flat: Prices = ['2.0000001', '0.0500003', '2.5000007', '4.0000009', '10.0000003'];
const low: Prices = ['1', '0.1', '1.25', '2', '5'];
const high: Prices = ['3.0000001', '0.3000003', '3.75', '6.0000001', '15.000007'];
const peak: Prices = ['0.6600002', '0.0220002', '0.8800002', '1.3200002', '1.9800002'];
const offPeak: Prices = ['0.3300001', '0.0110001', '0.4400001', '0.6600001', '0.9900001'];

const pricing = ([input, read, write, long, output]: Prices) =>
  `input: "${input}", output: "${output}", cache_read: "${read}", cache_write: "${write}", cache_write_long: "${long}"`;

/** In UTC, so many hours from now. */
const clock = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
const bands = (from: number, to: number) =>
  `time_bands: { timezone: UTC, off_peak_start: "${clock(from)}", off_peak_end: "${clock(to)}",
    peak: { name: Peak, ${pricing(peak)} }, off_peak: { ${pricing(offPeak)} } }`;

const priceForms = {
  flat: pricing(flat),
  tiers: `input_token_tiers: [{ max_input_tokens: 500, ${pricing(low)} }, { max_input_tokens: 9000, ${pricing(high)} }]`,
  peak: bands(6, 12),
  night: bands(-6, 6),
  plain: 'input: "2.0000001", output: "10.0000003"',
};
type PriceForm = keyof typeof priceForms;

/** What a request with this much input costs; a meter without a price costs what input does. */
function pricesFor(form: PriceForm, inputTokens: number): Prices {
  switch (form) {
    case 'flat':
      return flat;
    case 'tiers':
      return inputTokens <= 500 ? low : high;
    case 'peak':
      return peak;
    case 'night':
      return offPeak;
    case 'plain':
      return [flat[0], flat[0], flat[0], flat[0], flat[4]];
  }
}

const catalog = (url: string) => `
price_version: "2026-11"
providers:
${names.map((name) => `  ${name}: { name: ${name}, adapter: ${adapterOf(name)}, base_url: ${url}${pathOf[name]}, api_key_env: MAIN_KEY }`).join('\n')}
models:
${names
  .flatMap((name) =>
    Object.entries(priceForms).map(
      ([form, fields]) =>
        `  ${form}-${name}: { workload: chat, max_output_tokens: 1000, capabilities: [text_input, text_output, streaming], pricing: { billing_type: token, ${fields} }, providers: [${routeTo(name, name)}] }`,
    ),
  )
  .join('\n')}
`;

const token = 'metrics-token-for-tests';
let fixture: ChatFixture;
let customer: Awaited<ReturnType<ChatFixture['customer']>>;

beforeAll(async () => {
  fixture = await openChatFixture(catalog, (environment) =>
    startGateway({ ...environment, METRICS_TOKEN: token }),
  );
  customer = await fixture.customer('100');
}, 60_000);

afterAll(() => fixture.close());

type Usage = Readonly<{
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details?: Readonly<{ cached_tokens: number; cache_write_tokens?: number }>;
  completion_tokens_details?: Readonly<{ reasoning_tokens: number }>;
}>;

/** Asks for an answer, and returns the ID of the request and the usage that the client is told. */
async function ask(model: string, content: string, stream: boolean) {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      max_tokens: 200,
      stream,
      ...(stream && { stream_options: { include_usage: true } }),
    }),
  });
  expect(response.status).toBe(200);
  const requestId = response.headers.get('x-request-id') ?? '';
  if (!stream) return { requestId, usage: ((await response.json()) as { usage: Usage }).usage };
  const events = eventsOf(await response.text()).filter((event) => event !== '[DONE]');
  const last = events.map((event) => JSON.parse(event) as Chunk).at(-1);
  return { requestId, usage: last?.usage as Usage };
}

/** What was written down about a request. */
async function recorded(requestId: string) {
  const id = requestId.slice(4);
  const [row] = await eventually('the record', async () => {
    const rows = await fixture.database.sql`
      select g.input_tokens::int as input, g.cache_read_tokens::int as read, g.cache_write_tokens::int as written,
        g.cache_write_long_tokens::int as long, g.output_tokens::int as output, g.cost_input::text as "costInput",
        g.cost_cache_read::text as "costRead", g.cost_cache_write::text as "costWritten",
        g.cost_cache_write_long::text as "costLong", g.cost_output::text as "costOutput", g.cost_total::text as total,
        u.cost::text as charged, u.cache_saved::text as saved, u.cache_read_tokens::int as "chargedRead", u.provider
      from generations as g join usage_records as u on u.id = g.id
      where g.id = ${id}::uuid`;
    return rows.length === 0 ? null : rows;
  });
  const writeOffs = await fixture.database.sql`
    select reason, amount::text, reported_input_tokens::int as input, reported_output_tokens::int as output, reported
    from write_offs where generation_id = ${id}::uuid`;
  return { row, writeOffs: [...writeOffs] };
}

/** Exact, rounded half up at the twelfth digit. */
const costOf = (tokens: number, price: string) =>
  (BigInt(tokens) * (parseMoney(price) ?? 0n) + 500_000n) / 1_000_000n;

/** Fresh, read, written, written for long, output. */
type Counts = readonly [number, number, number, number, number];

function costsOf(form: PriceForm, counts: Counts) {
  const inputTokens = counts[0] + counts[1] + counts[2] + counts[3];
  const prices = pricesFor(form, inputTokens);
  const [fresh, read, written, long, output] = counts.map((tokens, meter) =>
    costOf(tokens, prices[meter] as string),
  ) as [bigint, bigint, bigint, bigint, bigint];
  const input = fresh + read + written + long;
  const saved = costOf(inputTokens, prices[0]) - input;
  return { inputTokens, read, written, long, input, output, total: input + output, saved };
}

const isCached = ([, read, written, long]: Counts) => read + written + long > 0;

/** What the ledger must have for these counts. */
function rowFor(format: Format, form: PriceForm, counts: Counts) {
  const cost = costsOf(form, counts);
  const cached = isCached(counts);
  const ifCached = <Value>(value: Value) => (cached ? value : null);
  return {
    input: cost.inputTokens,
    read: ifCached(counts[1]),
    written: ifCached(counts[2]),
    long: ifCached(counts[3]),
    output: counts[4],
    costInput: formatMoney(cost.input),
    costRead: ifCached(formatMoney(cost.read)),
    costWritten: ifCached(formatMoney(cost.written)),
    costLong: ifCached(formatMoney(cost.long)),
    costOutput: formatMoney(cost.output),
    total: formatMoney(cost.total),
    charged: formatMoney(cost.total),
    saved: ifCached(formatMoney(cost.saved)),
    chargedRead: ifCached(counts[1]),
    provider: format,
  };
}

/** What the client must be told of these counts. */
function usageFor(counts: Counts, reasoning = 0): Usage {
  const [fresh, read, written, long, output] = counts;
  const input = fresh + read + written + long;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(isCached(counts) && {
      prompt_tokens_details: {
        cached_tokens: read,
        ...(written + long > 0 && { cache_write_tokens: written + long }),
      },
    }),
    ...(reasoning > 0 && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

const reads: [string, Counts][] = [
  ['[[usage 1003 7]]', [1_003, 0, 0, 0, 7]],
  ['[[usage 1003 7]] [[cached 901]]', [102, 901, 0, 0, 7]],
  ['[[usage 499 7]] [[cached 450]]', [49, 450, 0, 0, 7]],
];
const writes: [string, Counts][] = [
  ['[[usage 1003 7]] [[cache-write 901]]', [102, 0, 901, 0, 7]],
  ['[[usage 1003 7]] [[cache-write 901 1h]]', [102, 0, 0, 901, 7]],
  ['[[usage 1003 7]] [[cached 500]] [[cache-write 401]]', [102, 500, 401, 0, 7]],
  ['[[usage 1003 7]] [[cached 500]] [[cache-write 401 1h]]', [102, 500, 0, 401, 7]],
];

/** Long enough for a hold that covers any price of what the sandbox reports. */
const longText = 'So it was said. '.repeat(200);

const forms = Object.keys(priceForms) as PriceForm[];
const modes = [
  ['non-streamed', false],
  ['streamed', true],
] as const;

describe.each(names)('in the format of %s', (format) => {
  describe.each(modes)('%s', (_mode, stream) => {
    test.each(forms)('each meter is charged at its price, and what is told adds up: %s', async (form) => {
      const model = `${form}-${format}`;
      for (const [directives, counts] of format === 'google' ? reads : [...reads, ...writes]) {
        const { requestId, usage } = await ask(model, `${longText} ${directives}`, stream);
        expect(usage).toEqual(usageFor(counts));
        const { row, writeOffs } = await recorded(requestId);
        expect(row).toEqual(rowFor(format, form, counts));
        expect(writeOffs).toEqual([]);
      }
    });

    test('reasoning is part of the output, and told', async () => {
      const said = 'Hi [[usage 1003 60]] [[reasoning 50]] [[cached 901]]';
      const { requestId, usage } = await ask(`flat-${format}`, said, stream);
      const counts: Counts = [102, 901, 0, 0, 60];
      expect(usage).toEqual(usageFor(counts, 50));
      expect((await recorded(requestId)).row).toEqual(rowFor(format, 'flat', counts));
    });

    test('of counts that cannot all be true, the cheapest reading is charged and the rest written off', async () => {
      const before = await contradictions();
      const [charged, other] = contradictory[format];
      for (const form of forms) {
        const said = 'Hi [[usage 1003 7]] [[usage-contradiction]]';
        const { requestId, usage } = await ask(`${form}-${format}`, said, stream);
        expect(usage).toEqual(usageFor(charged));
        const { row, writeOffs } = await recorded(requestId);
        expect(row).toEqual(rowFor(format, form, charged));
        const lost = costsOf(form, other).total - costsOf(form, charged).total;
        const inputTokens = charged[0] + charged[1];
        expect(writeOffs).toEqual([
          {
            reason: 'implausible_usage',
            amount: formatMoney(lost),
            input: inputTokens,
            output: 7,
            reported: evidence[format],
          },
        ]);
      }
      await eventually(
        'the metric',
        async () => (await contradictions()).get(format) === (before.get(format) ?? 0) + forms.length,
      );
    });
  });
});

/** What `[[usage 1003 7]] [[usage-contradiction]]` may mean: the cheapest and the dearest. */
const contradictory: Record<Format, readonly [Counts, Counts]> = {
  openai: [
    [0, 1_003, 0, 0, 7],
    [1_003, 1_004, 0, 0, 7],
  ],
  anthropic: [
    [1_003, 0, 0, 0, 7],
    [1_003, 0, 1, 0, 7],
  ],
  google: [
    [0, 1_003, 0, 0, 7],
    [1_003, 1_004, 0, 0, 7],
  ],
  responses: [
    [0, 1_003, 0, 0, 7],
    [1_003, 1_004, 0, 0, 7],
  ],
};

const evidence: Record<Format, object> = {
  openai: {
    prompt_tokens: 1_003,
    completion_tokens: 7,
    total_tokens: 1_010,
    'prompt_tokens_details.cached_tokens': 1_004,
    'completion_tokens_details.reasoning_tokens': 0,
  },
  anthropic: {
    input_tokens: 1_003,
    output_tokens: 7,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 1,
    'cache_creation.ephemeral_5m_input_tokens': 0,
    'cache_creation.ephemeral_1h_input_tokens': 0,
  },
  google: {
    promptTokenCount: 1_003,
    candidatesTokenCount: 7,
    totalTokenCount: 1_010,
    cachedContentTokenCount: 1_004,
  },
  responses: {
    input_tokens: 1_003,
    output_tokens: 7,
    total_tokens: 1_010,
    'input_tokens_details.cached_tokens': 1_004,
    'input_tokens_details.cache_write_tokens': 0,
    'output_tokens_details.reasoning_tokens': 0,
  },
};

test('writes that the request did not ask for are charged as input where the hold does not cover more', async () => {
  const said = 'Hi [[usage 1003 7]] [[cache-write 901 1h]]';
  const { requestId, usage } = await ask('peak-anthropic', said, false);
  expect(usage).toEqual(usageFor([1_003, 0, 0, 0, 7]));
  const { row, writeOffs } = await recorded(requestId);
  expect(row).toEqual(rowFor('anthropic', 'peak', [1_003, 0, 0, 0, 7]));
  const lost = costsOf('peak', [102, 0, 0, 901, 7]).total - costsOf('peak', [1_003, 0, 0, 0, 7]).total;
  expect(writeOffs).toMatchObject([{ amount: formatMoney(lost), reported: null }]);
});

async function samples() {
  const response = await fetch(`${fixture.gateway.origin}/metrics`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return readSamples(await response.text());
}

/** By provider. */
async function contradictions(): Promise<ReadonlyMap<string, number>> {
  const counted = (await samples()).filter(({ name }) => name === 'tollgate_usage_contradictions_total');
  return new Map(counted.map(({ labels, value }) => [labels.provider ?? '', value]));
}

test('the metrics have the tokens of each meter, as they were charged', async () => {
  const sums = await fixture.database.sql`
    select model, sum(input_tokens)::int as input, sum(cache_read_tokens)::int as read,
      sum(cache_write_tokens)::int as write, sum(cache_write_long_tokens)::int as write_long
    from usage_records group by model`;
  expect(sums).toHaveLength(names.length * forms.length);
  // A request is counted when its response has ended.
  await eventually('every model', async () => {
    const counted = await samples();
    const kinds = (metric: string, model: string) =>
      Object.fromEntries(
        counted
          .filter(({ name, labels }) => name === metric && labels.model === model)
          .map(({ labels, value }) => [labels.kind, value]),
      );
    return sums.every(
      ({ model, input, ...cached }: { model: string; input: number }) =>
        Bun.deepEquals(kinds('tollgate_cached_tokens_total', model), cached) &&
        kinds('tollgate_tokens_total', model).input === input,
    );
  });
});
