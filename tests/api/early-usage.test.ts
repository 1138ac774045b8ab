/** Usage that a provider reports before the first word of an answer: it counts, and any amount of it needs little memory. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ChatFixture, finishedGeneration, openChatFixture } from '../support/chat-fixture.ts';

/** Each way in which it can be meant is kept. */
const contradictory = {
  prompt_tokens: 1,
  completion_tokens: 1,
  total_tokens: 9,
  prompt_tokens_details: {
    cached_tokens: 2,
    cache_write_tokens: 1,
    cache_creation_input_tokens: 2,
    cache_write_tokens_details: { ttl_30m_tokens: 3, ttl_12h_tokens: 4 },
  },
  prompt_cache_hit_tokens: 4,
  prompt_cache_miss_tokens: 1,
  cached_tokens: 5,
  num_cached_tokens: 6,
};
const consistent = { prompt_tokens: 12, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 5 } };
const eventOf = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
const early = eventOf({ choices: [], usage: contradictory });
const rest = [
  eventOf({ choices: [], usage: consistent }),
  eventOf({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] }),
  'data: [DONE]\n\n',
].join('');

const megabytes = 20;
const piece = Buffer.from(early.repeat(Math.ceil(1_000_000 / early.length)));
let atRest = Promise.withResolvers<void>();

const provider = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch: async (request) => {
    await request.text();
    let sent = 0;
    const pull = async (stream: ReadableStreamDefaultController<Uint8Array>) => {
      sent += 1;
      if (sent <= megabytes) return stream.enqueue(piece);
      await atRest.promise;
      stream.enqueue(Buffer.from(rest));
      stream.close();
    };
    return new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'text/event-stream' } });
  },
});

let fixture: ChatFixture;

beforeAll(async () => {
  fixture = await openChatFixture(
    () => `
price_version: "1"
providers:
  early: { adapter: openai, base_url: ${provider.url.origin}/v1, api_key_env: MAIN_KEY }
models:
  early: { workload: chat, max_output_tokens: 100, capabilities: [text_input, text_output, streaming],
    pricing: { billing_type: token, input: "1", output: "2", cache_read: "0.1" }, providers: [early] }
`,
  );
}, 60_000);

afterAll(async () => {
  await fixture.close();
  await provider.stop(true);
});

function residentMegabytes(): number {
  const { stdout } = Bun.spawnSync(['ps', '-o', 'rss=', '-p', `${fixture.gateway.process.pid}`]);
  return Number(stdout.toString()) / 1024;
}

test('megabytes of reports before the first word are not kept, and the last one is charged', async () => {
  const { key } = await fixture.customer('10');
  atRest = Promise.withResolvers();
  const before = residentMegabytes();
  const asked = fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'early', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  let peak = before;
  // Until the gateway has read them and has waited for more.
  for (let steadyMs = 0, last = before; steadyMs < 2_000; steadyMs += 100) {
    await Bun.sleep(100);
    const now = residentMegabytes();
    if (Math.abs(now - last) > 2) steadyMs = 0;
    last = now;
    peak = Math.max(peak, now);
  }
  atRest.resolve();
  const response = await asked;
  expect(await response.text()).toContain('[DONE]');
  const { usage } = await finishedGeneration(
    fixture.gateway.origin,
    key,
    response.headers.get('x-request-id') ?? '',
  );
  expect(usage).toMatchObject({ input_tokens: 12, cache_read_tokens: 5, output_tokens: 1 });
  expect(peak - before).toBeLessThan(350);
}, 120_000);
