/**
 * The connection to a provider ends at every point of an answer, in every format, streamed and not: whatever the client is
 * told, an answer is charged if and only if it is complete.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type FaultProxy, startFaultProxy } from '../../chaos/world/fault-proxy.ts';
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import { type ChatFixture, eventsOf, finishedGeneration, openChatFixture } from '../support/chat-fixture.ts';
import { adapterOf, type Format, formats, pathOf, routeTo } from '../support/provider-faults.ts';

let sandbox: Sandbox;
const proxies = new Map<Format, FaultProxy>();
let fixture: ChatFixture;
let key: string;

const catalog = () => `
price_version: "1"
providers:
${[...proxies]
  .map(
    ([format, { port }]) =>
      `  ${format}: { adapter: ${adapterOf(format)}, base_url: "http://127.0.0.1:${port}${pathOf[format]}", api_key_env: MAIN_KEY, circuit: { failures: 1000 } }`,
  )
  .join('\n')}
models:
${formats.map((format) => `  ${format}: { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [${routeTo(format, format)}] }`).join('\n')}
`;

beforeAll(async () => {
  sandbox = startSandbox();
  for (const format of formats)
    proxies.set(format, await startFaultProxy({ host: '127.0.0.1', port: sandbox.port }));
  fixture = await openChatFixture(catalog);
  ({ key } = await fixture.customer('100', '--rpm', '1000000'));
});

afterAll(async () => {
  await fixture.close();
  for (const proxy of proxies.values()) await proxy.close();
  await sandbox.stop();
});

async function ask(format: Format, stream: boolean) {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: format,
      stream,
      messages: [{ role: 'user', content: '[[usage 10 20]] a b' }],
    }),
  });
  const text = await response.text();
  const id = response.headers.get('x-service-request-id') ?? '';
  const isError = text.includes('{"error"');
  const isWhole = stream ? eventsOf(text).at(-1) === '[DONE]' && !isError : response.status === 200;
  return { isWhole, isError, generation: await finishedGeneration(fixture.gateway.origin, key, id) };
}

const charge = '0.000050000000';

/** The length of the answer on the wire, and a cut at each of these positions. */
async function cutEverywhere(format: Format, stream: boolean, step: number): Promise<void> {
  const proxy = proxies.get(format);
  if (proxy === undefined) throw new Error('Every format has a proxy.');
  proxy.fault = { kind: 'none' };
  proxy.strike({ kind: 'refuse' });
  const before = proxy.counters.answerBytes;
  expect((await ask(format, stream)).isWhole).toBe(true);
  const length = proxy.counters.answerBytes - before;
  // Answers count the requests in their IDs, so later ones are a little longer.
  const beyond = length + 100;
  const places = Array.from({ length: Math.ceil(length / step) }, (_, index) => index * step);
  for (const afterBytes of [...places, length - 1, beyond]) {
    for (const kind of ['cut', 'reset'] as const) {
      proxy.fault = { kind, afterBytes };
      // A kept connection gets the same fault. If it were ended, the gateway might not have noticed yet.
      proxy.strike();
      const { isWhole, isError, generation } = await ask(format, stream);
      const what = `${format} ${stream ? 'streamed' : 'whole'} ${kind} after ${afterBytes} of ${length}`;
      // A stream may be complete before its last bytes, which only mark its end.
      if (afterBytes === beyond) expect([what, isWhole]).toEqual([what, true]);
      if (!stream && afterBytes < length) expect([what, isWhole]).toEqual([what, false]);
      expect([what, isError]).toEqual([what, !isWhole]);
      expect([what, generation.status]).toEqual([what, isWhole ? 'completed' : 'failed']);
      expect([what, generation.cost?.total ?? null]).toEqual([what, isWhole ? charge : null]);
    }
  }
}

test.each([
  ['whole', false, 23],
  ['streamed', true, 61],
] as const)(
  '%s answers',
  async (_what, stream, step) => {
    await Promise.all(formats.map((format) => cutEverywhere(format, stream, step)));
  },
  120_000,
);
