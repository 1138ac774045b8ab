/** What an operator sees of requests from outside: metrics, traces, and the line in the log. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ChatFixture, chatCatalog, openChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';
import { readSamples, type Sample } from '../support/metrics.ts';

type Attribute = { key: string; value: { stringValue?: string; intValue?: string; doubleValue?: number } };
type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  status: { code?: number };
};
type Export = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Span[] }[] }[];
};

const token = 'metrics-token-for-tests';
const spans: Span[] = [];
const collectorHeaders: Headers[] = [];
const collector = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    if (new URL(request.url).pathname !== '/v1/traces') return new Response(null, { status: 404 });
    collectorHeaders.push(request.headers);
    const { resourceSpans } = (await request.json()) as Export;
    for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
    return Response.json({});
  },
});

let fixture: ChatFixture;
let customer: Awaited<ReturnType<ChatFixture['customer']>>;

beforeAll(async () => {
  fixture = await openChatFixture(chatCatalog, (environment) =>
    startGateway({
      ...environment,
      METRICS_TOKEN: token,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url.origin,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=us',
    }),
  );
  customer = await fixture.customer('10');
  fixture.canaries.add(token);
}, 60_000);

afterAll(async () => {
  await fixture.close();
  await collector.stop(true);
});

function chat(body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20, ...body }),
  });
}

async function scrape(): Promise<Sample[]> {
  const response = await fetch(`${fixture.gateway.origin}/metrics`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  return readSamples(await response.text());
}

function totalOf(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, of]) => sample.labels[label] === of),
  );
  return found.reduce((sum, { value }) => sum + value, 0);
}

const requestLine = (requestId: string | null) =>
  fixture.gateway
    .output()
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
    .find((line) => line.event === 'request' && line.requestId === requestId);

const lineOf = (requestId: string | null) =>
  eventually('the line in the log', () => requestLine(requestId) ?? null);

const attribute = ({ attributes }: Span, key: string) =>
  Object.values(attributes.find((one) => one.key === key)?.value ?? {})[0];

test('a request adds to the metrics when it ends, by route, model, provider, status and code', async () => {
  const before = await scrape();
  const added = async (name: string, labels: Record<string, string>) =>
    totalOf(await scrape(), name, labels) - totalOf(before, name, labels);
  const whole = await chat({ model: 'full' });
  await whole.json();
  await (await chat({ model: 'full', stream: true })).text();
  await (await chat({ model: 'full', temperature: 9 })).text();
  await (await chat({ model: 'gone' })).text();

  const route = '/v1/chat/completions';
  const good = { route, model: 'full', provider: 'Main', status: '200', code: '' };
  await eventually('both requests', async () => (await added('tollgate_requests_total', good)) === 2);
  const bad = { route, model: '', provider: '', status: '400', code: 'invalid_parameter' };
  expect(await added('tollgate_requests_total', bad)).toBe(1);
  expect(await added('tollgate_requests_total', { route, model: 'gone', provider: 'Gone' })).toBe(1);
  expect(await added('tollgate_request_duration_seconds_count', { route, streaming: 'yes' })).toBe(1);
  expect(await added('tollgate_request_duration_seconds_count', { route, streaming: 'no' })).toBe(3);
  expect(await added('tollgate_time_to_first_token_seconds_count', { model: 'full' })).toBe(1);
  expect(await added('tollgate_holds_total', { outcome: 'held' })).toBe(3);
  expect(await added('tollgate_hold_duration_seconds_count', {})).toBe(3);
  expect(await added('tollgate_settle_duration_seconds_count', {})).toBe(3);
  const [{ input, output, cost }] = await fixture.database.sql`
    select sum(input_tokens)::int as input, sum(output_tokens)::int as output, sum(cost_total)::float8 as cost
    from generations where key_id = ${customer.keyId}`;
  expect(await added('tollgate_tokens_total', { model: 'full', kind: 'input' })).toBe(input);
  expect(await added('tollgate_tokens_total', { model: 'full', kind: 'output' })).toBe(output);
  expect(await added('tollgate_cost_usd_total', { model: 'full' })).toBeCloseTo(cost, 9);
});

test('a call that nobody is charged for is counted by its provider, and no other is', async () => {
  const before = await scrape();
  const added = async (provider: string) => {
    const name = 'tollgate_uncharged_attempts_total';
    return totalOf(await scrape(), name, { provider }) - totalOf(before, name, { provider });
  };
  const asking = (content: string) => ({ messages: [{ role: 'user', content }] });
  for (const body of [
    { model: 'full' },
    { model: 'full', stream: true },
    { model: 'full', ...asking('[[not-json]]') },
    { model: 'full', stream: true, ...asking('[[no-usage]]') },
    { model: 'full', ...asking('[[status 503]]') },
    { model: 'fallback' },
  ])
    await (await chat(body)).text();
  await eventually('both calls', async () => (await added('Main')) === 2);
  expect([await added('Gone'), await added('Backup')]).toEqual([0, 0]);
});

test('what is in progress and what waits is there too, and names neither accounts nor keys', async () => {
  const samples = await scrape();
  const names = new Set(samples.map(({ name }) => name));
  for (const name of [
    'tollgate_open_requests',
    'tollgate_open_streams',
    'tollgate_queue_length',
    'tollgate_unsettled_settlements',
    'tollgate_spooled_settlements',
    'tollgate_dead_letters',
    'tollgate_heartbeat_age_seconds',
    'tollgate_dropped_spans_total',
    'tollgate_oldest_orphan_age_seconds',
    'tollgate_rollup_age_seconds',
    'tollgate_event_loop_lag_seconds',
    'tollgate_unpublished_events',
    'tollgate_oldest_unpublished_event_age_seconds',
    'tollgate_webhook_deliveries',
    'tollgate_webhook_delay_seconds',
    'tollgate_webhooks_failing',
    'tollgate_oldest_open_payment_age_seconds',
    'tollgate_write_offs_total',
    'tollgate_catalog_reloads_total',
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
  ])
    expect(names).toContain(name);
  expect(totalOf(samples, 'tollgate_open_streams')).toBe(0);
  expect(totalOf(samples, 'tollgate_ready')).toBe(1);
  expect(JSON.stringify(samples)).not.toContain(customer.account);
  expect(JSON.stringify(samples)).not.toContain(customer.keyId);
});

test.each([[{}], [{ authorization: 'Bearer wrong' }], [{ authorization: token }]])(
  'nobody sees the metrics without the token: %j',
  async (headers) => {
    const response = await fetch(`${fixture.gateway.origin}/metrics`, { headers });
    expect(response.status).toBe(401);
    expect(await response.text()).not.toContain('tollgate_');
  },
);

test('the log has one line for each request, once it has ended, with what it cost', async () => {
  const response = await chat({ model: 'full', stream: true });
  const requestId = response.headers.get('x-request-id');
  await response.text();
  expect(await lineOf(requestId)).toMatchObject({
    method: 'POST',
    route: '/v1/chat/completions',
    status: 200,
    accountId: customer.account,
    keyId: customer.keyId,
    model: 'full',
    provider: 'Main',
    outcome: 'completed',
    inputTokens: expect.any(Number),
    outputTokens: expect.any(Number),
    costUsd: expect.any(Number),
    firstTokenMs: expect.any(Number),
  });
  const denied = await chat({ model: 'full', temperature: 9 });
  expect(await lineOf(denied.headers.get('x-request-id'))).toMatchObject({
    status: 400,
    code: 'invalid_parameter',
  });
});

test('health checks are in neither, nor counted', async () => {
  const id = (await fetch(`${fixture.gateway.origin}/readyz`)).headers.get('x-request-id');
  const other = await chat({ model: 'full' });
  await lineOf(other.headers.get('x-request-id'));
  expect(requestLine(id)).toBeUndefined();
  const counted = (await scrape()).filter(({ name }) => name === 'tollgate_requests_total');
  expect(counted.length).toBeGreaterThan(0);
  expect(counted.filter(({ labels }) => labels.route === '/readyz')).toEqual([]);
});

test("a request is part of its caller's trace, and its attempts are spans that the providers were told of", async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const content = 'Hello [[usage 100 5]] [[cached 60]] [[cache-write 30]]';
  const response = await chat(
    { model: 'fallback', messages: [{ role: 'user', content }] },
    { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
  );
  expect(response.status).toBe(200);
  const ofTrace = () => spans.filter((span) => span.traceId === traceId);
  await eventually('three spans', () => ofTrace().length === 3);
  const [server, ...attempts] = ofTrace() as [Span, ...Span[]];
  expect(server).toMatchObject({
    parentSpanId: 'b7ad6b7169203331',
    name: 'POST /v1/chat/completions',
    kind: 2,
  });
  expect(attribute(server, 'http.response.status_code')).toBe('200');
  expect(attribute(server, 'gen_ai.request.model')).toBe('fallback');
  expect(attribute(server, 'gen_ai.usage.input_tokens')).toBe('100');
  expect(attribute(server, 'gen_ai.usage.cache_read.input_tokens')).toBe('60');
  expect(attribute(server, 'gen_ai.usage.cache_creation.input_tokens')).toBe('30');
  expect(attribute(server, 'tollgate.request_id')).toBe(response.headers.get('x-request-id') ?? '');
  expect(attempts.map((span) => [span.name, span.kind, span.parentSpanId, span.status.code])).toEqual([
    ['chat fallback', 3, server.spanId, 2],
    ['chat fallback', 3, server.spanId, undefined],
  ]);
  expect(attempts.map((span) => attribute(span, 'gen_ai.provider.name'))).toEqual(['Gone', 'Backup']);
  const told = fixture.sandbox.entries.map(({ headers }) => headers.get('traceparent'));
  expect(told).toContain(`00-${traceId}-${attempts[1]?.spanId}-01`);
  expect(collectorHeaders.at(-1)?.get('x-tenant')).toBe('us');
});

test('a request without a trace starts one, and one that is not sampled is passed on and not exported', async () => {
  const own = await chat({ model: 'full' });
  const traceId = '11111111111111111111111111111111';
  await chat({ model: 'full' }, { traceparent: `00-${traceId}-b7ad6b7169203331-00` });
  const last = await chat({ model: 'full' }, { traceparent: 'not a trace' });
  const idsOf = () => spans.flatMap((span) => attribute(span, 'tollgate.request_id') ?? []);
  const expected = [own, last].map(({ headers }) => headers.get('x-request-id') ?? '');
  await eventually('both spans', () => expected.every((id) => idsOf().includes(id)));
  expect(spans.some((span) => span.traceId === traceId)).toBe(false);
  expect(
    fixture.sandbox.entries.some(({ headers }) => headers.get('traceparent')?.startsWith(`00-${traceId}-`)),
  ).toBe(true);
});
