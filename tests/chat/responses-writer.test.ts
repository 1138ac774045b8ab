/** The events that clients of the Responses format get: pure, without a gateway. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ResponseFacts } from '../../src/chat/dialect.ts';
import { FreeFormInput, inputOf } from '../../src/chat/responses/free-form.ts';
import { type AskedOfResponses, parseResponses } from '../../src/chat/responses/parse.ts';
import { PassedOnWriter } from '../../src/chat/responses/passed-on-writer.ts';
import { presentResponse } from '../../src/chat/responses/present.ts';
import { ResponseWriter } from '../../src/chat/responses/writer.ts';
import { Signatures } from '../../src/chat/signatures.ts';
import { StreamProgress } from '../../src/chat/stream-progress.ts';
import { ApiError, apiErrorCodes, type ErrorCode, errorTable } from '../../src/errors.ts';
import { unknownUsage } from '../../src/ledger/settlement.ts';
import type { AnswerItem, ChatEvent, FinishReason, ReportedUsage } from '../../src/providers/chat.ts';
import { EndedByGateway } from '../../src/providers/upstream.ts';
import { assembled, type ResponseBody, readEvents } from '../support/responses-fixture.ts';

const signatures = new Signatures(Buffer.alloc(32, 1));
const scope = { accountId: 'a', model: 'm' };

function factsOf(fields: object = {}): ResponseFacts<AskedOfResponses> {
  const { asked } = parseResponses(signatures)(
    { model: 'm', input: 'x', ...fields },
    { accountId: 'a', headers: new Headers() },
  );
  return { requestId: `req_${'0'.repeat(32)}`, createdSeconds: 1, model: 'm', asked };
}

const tools = [
  { type: 'function', name: 'look' },
  { type: 'custom', name: 'write' },
  { type: 'namespace', name: 'team', tools: [{ type: 'function', name: 'ask' }] },
];
const full = factsOf({ tools, include: ['reasoning.encrypted_content'] });

const charge = {
  usage: { inputTokens: 5, outputTokens: 7, cached: null, units: 12, unit: 'tokens' as const, tier: null },
  cost: { input: 1n, output: 2n, total: 3n, price: null as never },
  reported: unknownUsage,
  loss: null,
} as unknown as Parameters<ResponseWriter['complete']>[0];
const usage: ReportedUsage = {
  readings: [{ freshInput: 5, cacheRead: 0, cacheWrite: 0, cacheWriteLong: 0, output: 7 }],
  contradiction: null,
  reasoningTokens: 3,
};

/** What a client gets for these events, with the charge at the end. */
function written(events: readonly ChatEvent[], facts = full): string {
  const writer = new ResponseWriter(facts);
  const progress = new StreamProgress(writer);
  return writer.begin() + progress.take(events) + writer.complete(charge, usage) + writer.close;
}

const response = (events: readonly ChatEvent[], facts = full): ResponseBody =>
  assembled(readEvents(written(events, facts)));

const text = (value: string): ChatEvent => ({ type: 'text', text: value });
const thought = (value: string): ChatEvent => ({ type: 'reasoning', text: value });
const call = (index: number, name: string): ChatEvent => ({
  type: 'tool_call',
  index,
  id: `call_${index}`,
  name,
});
const piece = (index: number, value: string): ChatEvent => ({ type: 'tool_arguments', index, text: value });
const finish = (reason: FinishReason = 'stop'): ChatEvent => ({ type: 'finish', reason });
const typesOf = (events: readonly ChatEvent[], facts = full) =>
  readEvents(written(events, facts)).map(({ type }) => type.replace('response.', ''));

describe('the sequence of events', () => {
  test('of a text', () => {
    expect(typesOf([text('Hel'), text('lo'), finish()])).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
  });

  test('of reasoning, a text and two calls whose pieces alternate', () => {
    const signature = { value: 'secret', madeBy: 'p/m' };
    const events = [
      thought('Hm'),
      thought('.'),
      { type: 'reasoning_end', signature } as const,
      text('So'),
      call(0, 'look'),
      piece(0, '{"a"'),
      call(1, 'team__ask'),
      piece(1, '{}'),
      piece(0, ':1}'),
      finish('tool_calls'),
    ];
    expect(typesOf(events).slice(2)).toEqual([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    const { output } = response(events);
    expect(output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'message', content: [{ text: 'So' }] },
      { type: 'function_call', call_id: 'call_0', name: 'look', arguments: '{"a":1}' },
      { type: 'function_call', call_id: 'call_1', namespace: 'team', name: 'ask', arguments: '{}' },
    ]);
    expect(signatures.open(String(output[0]?.encrypted_content), scope)).toEqual(signature);
  });

  test('of a free-form tool', () => {
    const events = [
      call(0, 'write'),
      piece(0, '{"in'),
      piece(0, 'put":"a\\'),
      piece(0, 'nb"}'),
      finish('tool_calls'),
    ];
    expect(typesOf(events).slice(2)).toEqual([
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
      'completed',
    ]);
    expect(response(events).output).toMatchObject([
      { type: 'custom_tool_call', name: 'write', input: 'a\nb' },
    ]);
  });

  test('of text after a call: another message', () => {
    const { output } = response([
      text('a'),
      call(0, 'look'),
      piece(0, '{}'),
      text('b'),
      finish('tool_calls'),
    ]);
    expect(output.map(({ type }) => type)).toEqual(['message', 'function_call', 'message']);
  });

  test('of nothing: an empty message, because agents would ask again for none', () => {
    expect(response([finish()]).output).toMatchObject([{ type: 'message', content: [{ text: '' }] }]);
    expect(response([finish('length')]).output).toEqual([]);
  });

  test('of reasoning that nobody asked for: none', () => {
    const events = [thought('Hm'), { type: 'reasoning_end', signature: null } as const, text('a'), finish()];
    expect(response(events, factsOf()).output.map(({ type }) => type)).toEqual(['message']);
    const summed = response(events, factsOf({ reasoning: { summary: 'auto' } })).output[0];
    expect([summed?.type, 'encrypted_content' in (summed ?? {})]).toEqual(['reasoning', false]);
  });
});

test('an answer that was cut is incomplete, and so is its last item', () => {
  for (const [reason, told] of [
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ] as const) {
    const last = response([text('a'), finish(reason)]);
    expect(last).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: told },
      completed_at: null,
      output: [{ status: 'incomplete' }],
    });
    expect(readEvents(written([text('a'), finish(reason)])).at(-1)?.type).toBe('response.incomplete');
  }
});

test('a stream says the same as a non-streamed response, whatever the pieces', () => {
  const item = fc.oneof(
    fc.record({
      kind: fc.constant('text' as const),
      pieces: fc.array(fc.string({ unit: 'binary', minLength: 1 }), { minLength: 1 }),
    }),
    fc.record({
      kind: fc.constant('thought' as const),
      pieces: fc.array(fc.string({ minLength: 1 }), { minLength: 1 }),
    }),
    fc.record({
      kind: fc.constant('call' as const),
      name: fc.constantFrom('look', 'team__ask', 'unknown'),
      pieces: fc.array(fc.string({ minLength: 1 })),
    }),
  );
  fc.assert(
    fc.property(
      fc.array(item, { maxLength: 6 }),
      fc.constantFrom<FinishReason>('stop', 'length'),
      (parts, reason) => {
        const events: ChatEvent[] = [];
        const items: AnswerItem[] = [];
        let calls = 0;
        let before = '';
        for (const part of parts) {
          const whole = part.pieces.join('');
          // Two texts in a row are one.
          if (part.kind === 'text' && before !== 'text') {
            events.push(...part.pieces.map(text));
            items.push({ type: 'text', text: whole });
          } else if (part.kind === 'thought') {
            events.push(...part.pieces.map(thought), { type: 'reasoning_end', signature: null });
            items.push({ type: 'reasoning', text: whole, signature: null });
          } else if (part.kind === 'call') {
            const index = calls;
            events.push(call(index, part.name), ...part.pieces.map((value) => piece(index, value)));
            items.push({ type: 'tool_call', id: `call_${index}`, name: part.name, arguments: whole });
            calls += 1;
          } else continue;
          before = part.kind;
        }
        const streamed = response([...events, finish(reason)]);
        const at = { ...streamed, completed_at: 0 };
        const answer = { items, finishReason: reason, usage };
        const present = JSON.parse(JSON.stringify(presentResponse(full, answer, charge))) as ResponseBody;
        if (reason === 'stop') expect({ ...present, completed_at: 0 }).toEqual(at);
        else expect(present.output.map(({ id }) => id)).toEqual(streamed.output.map(({ id }) => id));
      },
    ),
    { numRuns: 300 },
  );
});

describe('free-form input', () => {
  test('is decoded from any pieces as it would be from the whole', () => {
    const input = fc.string({ unit: 'binary', maxLength: 60 });
    fc.assert(
      fc.property(input, fc.array(fc.nat(200)), fc.boolean(), (value, cuts, isEscaped) => {
        const json = JSON.stringify({ input: value });
        const whole = isEscaped
          ? json.replaceAll(
              /[^\x20-\x7e]/g,
              (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
            )
          : json;
        const decoder = new FreeFormInput();
        const places = [...new Set(cuts.filter((cut) => cut < whole.length))].toSorted((a, b) => a - b);
        let decoded = '';
        let from = 0;
        for (const to of [...places, whole.length]) {
          const next = decoder.add(whole.slice(from, to));
          // Half a character would be an event that strict parsers reject.
          if (isEscaped && value.isWellFormed()) expect(next.isWellFormed()).toBe(true);
          decoded += next;
          from = to;
        }
        decoded += decoder.end();
        expect([decoded, decoder.text, inputOf(whole)]).toEqual([value, value, value]);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ['{"input":"a\nb"}', 'a\nb'],
    ['{ "input" : "a" , "more": 1}', 'a'],
    ['{"more": 1, "input": "a"}', 'a'],
    ['plain text', 'plain text'],
    ['{"input": 5}', '{"input": 5}'],
    ['{"input":"cut off', 'cut off'],
    ['', ''],
  ])('%j becomes %j', (json, input) => {
    expect(inputOf(json)).toBe(input);
    const decoder = new FreeFormInput();
    const decoded = [...json].map((unit) => decoder.add(unit)).join('') + decoder.end();
    expect([decoded, decoder.text]).toEqual([input, input]);
  });
});

describe('a failure', () => {
  const failedWith = (error: ApiError, writer = new ResponseWriter(full)) => {
    const events = readEvents(writer.failure(error));
    return events.at(-1)?.response?.error;
  };
  const final = ['insufficient_quota', 'invalid_prompt', 'context_length_exceeded'];

  test.each(apiErrorCodes.map((code) => [code]))('%s has a code that clients act on', (code: ErrorCode) => {
    const { type, retryable, message } = errorTable[code];
    const error = failedWith(new ApiError(code));
    expect(error).toMatchObject({ type, gateway_code: code });
    const isAdviceNeeded = error?.code === 'server_error' && !message.includes('Try again');
    expect(error?.message).toBe(isAdviceNeeded ? `${message} Try again.` : message);
    expect([code, final.includes(error?.code ?? '')]).toEqual([
      code,
      retryable === 'no' || type === 'billing_error',
    ]);
    if (!final.includes(error?.code ?? ''))
      expect(['server_error', 'rate_limit_exceeded']).toContain(error?.code ?? '');
  });

  test('for lack of balance is final everywhere', () => {
    expect(failedWith(new ApiError('insufficient_balance'))?.code).toBe('insufficient_quota');
  });

  test('that became another code in the stream is judged by its first', () => {
    const first = new ApiError('provider_bad_request');
    const error = failedWith(new ApiError('provider_stream_error', { message: first.message, cause: first }));
    expect([error?.code, error?.gateway_code]).toEqual(['invalid_prompt', 'provider_stream_error']);
  });

  test('and the end change nothing: either may be asked for and not sent', () => {
    const writer = new ResponseWriter(full);
    const progress = new StreamProgress(writer);
    const begun = writer.begin() + progress.take([text('a')]);
    writer.failure(new ApiError('provider_timeout'));
    writer.complete(charge, usage);
    const more = progress.take([text('b'), finish()]);
    const ended = begun + more + writer.complete(charge, usage);
    expect(assembled(readEvents(ended)).output).toMatchObject([{ content: [{ text: 'ab' }] }]);
    const failed = readEvents(begun + more + writer.failure(new ApiError('provider_timeout')));
    expect(failed.at(-1)?.response?.output).toHaveLength(1);
  });

  test('of an answer that is longer than a response may be ends the stream', () => {
    const writer = new ResponseWriter(full);
    const megabyte = { type: 'text', text: 'x'.repeat(1_048_576) } as const;
    for (let count = 0; count < 31; count += 1) writer.text(megabyte);
    expect(() => writer.text(megabyte)).toThrow(EndedByGateway);
  });

  test('of an answer of more items than a response may hold ends the stream', () => {
    const writer = new ResponseWriter(full);
    const alternate = () => {
      for (let count = 0; count < 100_000; count += 1) {
        writer.reasoning({ type: 'reasoning', text: 'a' });
        writer.text({ type: 'text', text: 'b' });
      }
    };
    expect(alternate).toThrow(EndedByGateway);
  });
});

describe('what a provider of the same format sends', () => {
  const wire = (type: string, number: number, more: object = {}) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...more })}\n\n`;
  const facts = factsOf({ metadata: { a: 'b' }, user: 'ann' });
  const begun = [
    { type: 'wire', wire: wire('response.created', 0) },
    { type: 'wire', wire: wire('response.brand_new', 1) },
    { type: 'text', text: 'a', wire: wire('response.output_text.delta', 2, { delta: 'a' }) },
  ] satisfies ChatEvent[];
  const last = wire('response.completed', 3, {
    response: {
      id: 'resp_1',
      store: true,
      brand_new: 12345678901234567890n.toString(),
      usage: { input_tokens: 9, more: 1 },
    },
  });

  test('is sent as it came; the end waits for the charge, and tells it', () => {
    const writer = new PassedOnWriter(facts);
    const progress = new StreamProgress(writer);
    const [first] = begun;
    const sent = writer.begin() + progress.take([...begun, { type: 'finish', reason: 'stop', wire: last }]);
    expect([sent, first?.type]).toEqual([begun.map((event) => event.wire).join(''), 'wire']);
    const end = writer.complete(charge, usage);
    expect(writer.complete(charge, usage)).toBe(end);
    const [, , , event] = readEvents(sent + end);
    expect(event).toMatchObject({
      type: 'response.completed',
      response: {
        id: 'resp_1',
        store: false,
        metadata: { a: 'b' },
        user: 'ann',
        usage: { input_tokens: 5, output_tokens: 7, more: 1, cost: '0.000000000003' },
      },
    });
  });

  test('fails with the next number', () => {
    const writer = new PassedOnWriter(facts);
    const progress = new StreamProgress(writer);
    const sent = progress.take(begun) + writer.failure(new ApiError('provider_stream_error'));
    expect(readEvents(sent).at(-1)).toMatchObject({ type: 'response.failed', sequence_number: 3 });
    const untouched = readEvents(new PassedOnWriter(facts).failure(new ApiError('provider_timeout')));
    expect(untouched.map(({ type }) => type)).toEqual(['response.created', 'response.failed']);
  });

  test('is presented whole with the charge', () => {
    const answer = {
      items: [],
      finishReason: 'stop' as const,
      usage,
      wire: { id: 'resp_1', brand_new: 1, usage: {} },
    };
    expect(presentResponse(facts, answer, charge)).toMatchObject({
      id: 'resp_1',
      brand_new: 1,
      store: false,
      metadata: { a: 'b' },
      usage: { total_tokens: 12, cost: '0.000000000003' },
    });
  });
});
