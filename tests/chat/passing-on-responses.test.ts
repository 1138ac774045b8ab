/**
 * A conversation in the Responses format with a provider that speaks it: two turns over real sockets, in which reasoning
 * leaves sealed and comes back as its maker made it.
 */
import { afterAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { startSandbox } from '../../sandbox/server.ts';
import type { ChatDialect, ChatWriter } from '../../src/chat/dialect.ts';
import { Signatures } from '../../src/chat/signatures.ts';
import type { JsonObject } from '../../src/providers/chat.ts';
import { responses } from '../../src/providers/responses.ts';
import { orderOf } from '../support/chat-messages.ts';
import { emptyCall } from '../support/provider.ts';
import { serveStream } from '../support/served-stream.ts';

const sandbox = startSandbox({ keepEntries: 10 });
afterAll(() => sandbox.stop());

const signatures = new Signatures(randomBytes(32));
const scope = { accountId: 'a', model: 'house-model' };

/** Sends what arrives, and the last event when it is charged. */
function writer(): ChatWriter {
  let last = '';
  const send = ({ wire = '' }: { wire?: string }) => wire;
  return {
    begin: () => '',
    text: send,
    reasoning: send,
    reasoningEnd: send,
    toolCall: send,
    toolArguments: send,
    wire: send,
    finish: ({ wire = '' }) => {
      last = wire;
      return '';
    },
    complete: () => last,
    failure: ({ code }) => `failed: ${code}\n\n`,
    close: '',
  };
}

const dialect = {
  route: 'made-up',
  openWriter: writer,
  showsReasoning: true,
} as unknown as ChatDialect<null>;

type Item = Record<string, unknown>;
type Event = {
  type: string;
  sequence_number: number;
  item?: Item;
  response?: { output: Item[]; model: string };
};

async function ask(input: readonly JsonObject[], tools: readonly JsonObject[] = []): Promise<Event[]> {
  const sealed = input.flatMap(({ encrypted_content: content }) =>
    typeof content === 'string' ? [content] : [],
  );
  const served = serveStream({
    path: '/made-up',
    chat: {
      ...orderOf({ ...emptyCall, messages: [] }),
      model: scope.model,
      stream: true,
      original: {
        format: 'responses',
        body: {
          model: scope.model,
          input,
          tools,
          include: ['reasoning.encrypted_content'],
          reasoning: { summary: 'auto' },
        },
        headers: {},
        model: scope.model,
        untranslatable: null,
        signatures: new Map(sealed.map((value) => [value, signatures.open(value, scope)])),
        seal: (signature) => signatures.seal(signature, scope),
      },
      asked: null,
    },
    dialect,
    providers: [{ baseUrl: `${sandbox.url}/v1`, adapter: responses }],
  });
  const text = await (await fetch(served.url)).text();
  await served.stop();
  expect(served.log()).toBe('');
  expect(text).not.toMatch(
    /sandbox-organization|resp_sandbox|msg_sandbox|rs_sandbox|fc_sandbox|upstream-m|gAAAA/,
  );
  return [...text.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(([, name, data]) => {
    const event = JSON.parse(data ?? '') as Event;
    expect(event.type).toBe(name ?? '');
    return event;
  });
}

test('what a model thought comes back to it as it was', async () => {
  const question = { role: 'user', content: '[[tools 2]] [[reasoning 5]] [[usage 10 20]]' };
  const tool = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false };
  const events = await ask([question], [tool, { type: 'custom', name: 'patch' }]);
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
  const output = events.at(-1)?.response?.output ?? [];
  expect(events.at(-1)?.response?.model).toBe('house-model');
  expect(output.map(({ type }) => type)).toEqual(['reasoning', 'function_call', 'custom_tool_call']);
  expect(
    events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item as Item),
  ).toEqual(output);
  const [thought, call, patch] = output;
  const results = [
    { type: 'function_call_output', call_id: call?.call_id, output: 'sunny' },
    { type: 'custom_tool_call_output', call_id: patch?.call_id, output: 'done' },
  ];
  const again = await ask([question, ...output, ...results], [tool, { type: 'custom', name: 'patch' }]);
  expect(again.at(-1)?.type).toBe('response.completed');
  const received = sandbox.entries.at(-1)?.body as { input: Item[] };
  // The sandbox has checked that the ID and the content belong together.
  expect(received.input[1]).toMatchObject({ type: 'reasoning', id: expect.stringMatching(/^rs_sandbox_/) });
  expect(received.input.slice(2, 4)).toEqual([call as Item, patch as Item]);

  const stranger = {
    ...thought,
    encrypted_content: signatures.seal({ value: '["a","b"]', madeBy: 'p9/m' }, scope),
  };
  await ask([question, stranger, { role: 'user', content: 'And now?' }]);
  const without = sandbox.entries.at(-1)?.body as { input: Item[] };
  expect(without.input.map(({ type }) => type)).toEqual([undefined, undefined]);
});
