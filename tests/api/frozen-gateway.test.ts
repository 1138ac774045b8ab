/** A gateway that is stopped and resumes after its deadlines: the lost time does not count against its providers. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ChatFixture, eventsOf, finishedGeneration, openChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { delta, type Exchange, startScriptedProvider, usageEvent } from '../support/scripted-provider.ts';

/** Long enough for the streams to get going on a busy machine. */
const deadlineMs = 8_000;
const frozenMs = 9_000;
/** The provider's pause between two pieces once the gateway resumes: longer than a late deadline would wait. */
const pauseMs = 500;

const kinds = ['total', 'idle', 'first_byte'] as const;
type Kind = (typeof kinds)[number];

const provider = startScriptedProvider();
let fixture: ChatFixture;
let key: string;

function catalog(): string {
  const providers = kinds.map(
    (kind) =>
      `\n  ${kind}: { adapter: openai, base_url: ${provider.url}/v1, timeouts: { ${kind}_ms: ${deadlineMs} } }`,
  );
  const price = 'pricing: { billing_type: token, input: "1", output: "2" }';
  const models = kinds.map((kind) => `\n  ${kind}: { workload: chat, ${price}, providers: [${kind}] }`);
  return `price_version: "1"\nproviders:${providers.join('')}\nmodels:${models.join('')}\n`;
}

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
  ({ key } = await fixture.customer('100'));
});

afterAll(async () => {
  await fixture.close();
  await provider.stop();
});

/** A stream in progress, and what its client has received so far. */
async function begin(kind: Kind, name: string) {
  let text = '';
  const response = fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: kind, stream: true, messages: [{ role: 'user', content: name }] }),
  });
  const read = response.then(async ({ body }) => {
    for await (const bytes of body ?? []) text += Buffer.from(bytes).toString();
  });
  const exchange = await provider.received(name);
  const hasGot = (word: string) => eventually(`${word} at the client of ${name}`, () => text.includes(word));
  const end = async () => {
    await read;
    const id = (await response).headers.get('x-service-request-id') ?? '';
    const { status, usage, error } = await finishedGeneration(fixture.gateway.origin, key, id);
    const { input_tokens: input, output_tokens: output } = usage ?? {};
    return { name, isDone: eventsOf(text).at(-1) === '[DONE]', status, error, usage: [input, output] };
  };
  return { exchange, hasGot, end };
}

function finish(exchange: Exchange): void {
  exchange.send(delta({ content: ' last' }, 'stop'));
  exchange.send(usageEvent(78, 51));
  exchange.send('[DONE]');
  exchange.end();
}

test('is read and charged as its provider reported it', async () => {
  const during = await Promise.all(kinds.map((kind) => begin(kind, `during-${kind}`)));
  const after = await Promise.all([begin('total', 'after-total'), begin('idle', 'after-idle')]);
  for (const { exchange } of [...during.slice(0, 2), ...after]) exchange.send(delta({ content: 'first' }));
  await Promise.all([...during.slice(0, 2), ...after].map(({ hasGot }) => hasGot('first')));

  fixture.gateway.process.kill('SIGSTOP');
  for (const { exchange } of during) finish(exchange);
  await Bun.sleep(frozenMs);
  fixture.gateway.process.kill('SIGCONT');

  for (const { exchange } of after) exchange.send(delta({ content: ' second' }));
  await Promise.all(after.map(({ hasGot }) => hasGot('second')));
  await Bun.sleep(pauseMs);
  for (const { exchange } of after) finish(exchange);

  const ends = await Promise.all([...during, ...after].map(({ end }) => end()));
  expect(ends).toEqual(
    ['during-total', 'during-idle', 'during-first_byte', 'after-total', 'after-idle'].map((name) => ({
      name,
      isDone: true,
      status: 'completed',
      error: null,
      usage: [78, 51],
    })),
  );
});
