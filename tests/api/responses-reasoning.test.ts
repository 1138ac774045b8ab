/** Reasoning in the Responses format, towards providers of other formats: shown, sealed, and sent back to its maker only. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { ChatFixture } from '../support/chat-fixture.ts';
import {
  clientOf,
  openResponses,
  otherFormats,
  type ResponsesClient,
  textOf,
} from '../support/responses-fixture.ts';

let fixture: ChatFixture;
let client: ResponsesClient;

beforeAll(async () => {
  fixture = await openResponses();
  const { key } = await fixture.customer('100', '--rpm', '100000');
  client = clientOf(fixture.gateway.origin, key);
});

afterAll(() => fixture.close());

const ways = otherFormats.flatMap((format) => [false, true].map((stream) => ({ format, stream })));

function received(text: string): string {
  const entry = fixture.sandbox.entries.findLast(({ body }) => JSON.stringify(body).includes(text));
  return JSON.stringify(entry?.body);
}

describe.each(ways)('$format, streamed: $stream', ({ format, stream }) => {
  const model = `speaks-${format}`;
  const input = [{ role: 'user', content: 'Think [[reasoning 5]]' }];

  test('comes back if it was asked for, and is replayed', async () => {
    const asked = {
      model,
      stream,
      reasoning: { effort: 'high', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    };
    const first = await client.ask({ ...asked, input });
    const again = `again-${format}-${stream}`;
    const replayed = [...input, ...first.output, { role: 'user', content: again }];
    expect(textOf(await client.ask({ ...asked, input: replayed }))).toContain(again);
    expect(received(again)).not.toContain('tg1_');
    if (format === 'anthropic') {
      const [thought] = first.output;
      expect(thought).toMatchObject({ type: 'reasoning', summary: [{ type: 'summary_text' }] });
      expect(String(thought?.encrypted_content)).toStartWith('tg1_');
      expect(received(again)).toContain('"signature":');
      // Another model cannot use it, and another account must not.
      const elsewhere = `elsewhere-${stream}`;
      await client.ask({
        ...asked,
        model: 'full',
        input: [...replayed, { role: 'user', content: elsewhere }],
      });
      expect(received(elsewhere)).not.toContain('signature');
      const { key: other } = await fixture.customer('1');
      const stolen = `stolen-${stream}`;
      await clientOf(fixture.gateway.origin, other).ask({
        ...asked,
        input: [...replayed, { role: 'user', content: stolen }],
      });
      expect(received(stolen)).not.toContain('signature');
    }
    const plain = await client.ask({ model, stream, input });
    expect(plain.output.map(({ type }) => type)).toEqual(['message']);
  });
});
