/** What a client gets of a stream, and what is known about it when it ends. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ChunkWriter } from '../../src/chat/completions/present.ts';
import { LeastTokens } from '../../src/chat/least-tokens.ts';
import { PassedOnWriter } from '../../src/chat/messages/passed-on-writer.ts';
import { isUsable, StreamProgress } from '../../src/chat/stream-progress.ts';
import { inputTokensOf, type Meters, plainMeters } from '../../src/lib/meters.ts';
import {
  type ChatEvent,
  type FinishReason,
  failed,
  hasText,
  type ReportedUsage,
} from '../../src/providers/chat.ts';
import { beyondLimit, ProviderError } from '../../src/providers/upstream.ts';
import { reported } from '../support/reported-usage.ts';

const text = (piece: string): ChatEvent => ({ type: 'text', text: piece });
const usage = (inputTokens: number, outputTokens: number): ChatEvent => ({
  type: 'usage',
  usage: reported(inputTokens, outputTokens),
});
const finish: ChatEvent = { type: 'finish', reason: 'stop' };
const end: ChatEvent = { type: 'end' };
const broken = new ProviderError('provider_timeout', { upstreamStatus: 200 });

const newWriter = () =>
  new ChunkWriter({ requestId: 'req_1', createdSeconds: 1_000, model: 'm', asked: { includeUsage: false } });
/** What a client of chat completions gets for an event of an answer without calls. */
const chunks = {
  text: (piece: string) => newWriter().text({ type: 'text', text: piece }),
  toolCall: (index: number, id: string, name: string) =>
    newWriter().toolCall({ type: 'tool_call', index, id, name }),
  toolArguments: (index: number, piece: string) =>
    newWriter().toolArguments({ type: 'tool_arguments', index, text: piece }),
  finish: (reason: FinishReason) => newWriter().finish({ type: 'finish', reason }),
};

function progressOf(...reads: readonly (readonly ChatEvent[])[]) {
  const progress = new StreamProgress(newWriter());
  return { progress, written: reads.map((events) => progress.take(events)) };
}

test('every event becomes its chunk, in order', () => {
  const { progress, written } = progressOf([
    text('a'),
    { type: 'tool_call', index: 1, id: 'call_1', name: 'f' },
    { type: 'tool_arguments', index: 1, text: '{}' },
    usage(1, 2),
    finish,
    end,
  ]);
  const expected = [
    chunks.text('a'),
    chunks.toolCall(1, 'call_1', 'f'),
    chunks.toolArguments(1, '{}'),
    chunks.finish('stop'),
  ];
  expect(written).toEqual([expected.join('')]);
  expect(progress).toMatchObject({ isFinished: true, isEnded: true, failure: null, isUsageLost: false });
});

describe('text next to tool calls', () => {
  const call = (index: number): ChatEvent => ({ type: 'tool_call', index, id: `call_${index}`, name: 'f' });
  const argument = (index: number, piece: string): ChatEvent => ({
    type: 'tool_arguments',
    index,
    text: piece,
  });
  const anyEvent = fc.oneof(
    fc.string({ minLength: 1 }).map(text),
    fc.nat({ max: 3 }).map(call),
    fc.tuple(fc.nat({ max: 3 }), fc.string()).map(([index, piece]) => argument(index, piece)),
  );

  test('goes no further once there was a call, however the events arrive', () => {
    fc.assert(
      fc.property(fc.array(fc.array(anyEvent)), (reads) => {
        const { progress, written } = progressOf(...reads);
        const events = reads.flat();
        const first = events.findIndex(({ type }) => type === 'tool_call');
        const isSent = (event: ChatEvent, index: number) =>
          event.type !== 'text' || first < 0 || index < first;
        const sent = events.filter(isSent);
        const fresh = new StreamProgress(newWriter());
        expect(written.join('')).toBe(sent.map((event) => fresh.take([event])).join(''));
        const least = new LeastTokens();
        for (const event of sent) if ('text' in event) least.add(event.text);
        expect(progress.deliveredTokens).toBe(least.tokens);
      }),
    );
  });

  test('is the text after the first call, not before it', () => {
    const { written } = progressOf([text('Let me look. '), call(0), text('One moment.'), argument(0, '{}')]);
    expect(written).toEqual([
      chunks.text('Let me look. ') + chunks.toolCall(0, 'call_0', 'f') + chunks.toolArguments(0, '{}'),
    ]);
  });
});

test('chat completions have no place for reasoning, nor for events of another format', () => {
  const { progress, written } = progressOf([
    { type: 'reasoning', text: 'hm' },
    { type: 'wire', wire: 'event: x\n\n' },
    { type: 'reasoning_end', signature: { value: 's', madeBy: 'p/m' } },
    { type: 'usage', usage: reported(1, 2), wire: 'event: y\n\n' },
    text('a'),
  ]);
  expect(written).toEqual([chunks.text('a')]);
  expect(progress).toMatchObject({ deliveredTokens: 1, usage: reported(1, 2) });
});

test('nothing is known about a new stream', () => {
  expect(new StreamProgress(newWriter())).toMatchObject({
    usage: null,
    isFinished: false,
    isEnded: false,
    failure: null,
    isUsageLost: false,
    hasText: false,
    deliveredTokens: 0,
    isDelivering: true,
  });
});

test('nothing is passed on after the end, and one reason to finish is enough', () => {
  const { progress, written } = progressOf([finish, finish, end, text('late')], [text('later'), usage(1, 1)]);
  expect(written).toEqual([chunks.finish('stop'), '']);
  expect(progress).toMatchObject({ hasText: false, usage: null });
});

test('the largest counts are believed, each on its own', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1 }), (counts) => {
      const { progress } = progressOf(counts.map(([input, output]) => usage(input, output)));
      expect(progress.usage).toEqual(
        reported(
          Math.max(...counts.map(([input]) => input)),
          Math.max(...counts.map(([, output]) => output)),
        ),
      );
    }),
  );
});

test('the counts of the input belong together: those of the last report that has the most', () => {
  const first = reported(1_000, 1);
  const cached = { freshInput: 100, cacheRead: 900, cacheWrite: 0, cacheWriteLong: 0, output: 5 };
  const later = reported(0, 0, { readings: [cached] });
  const both = progressOf([
    { type: 'usage', usage: first },
    { type: 'usage', usage: later },
  ]);
  expect(both.progress.usage).toEqual(later);
  const smaller = progressOf([{ type: 'usage', usage: later }, usage(10, 7)]);
  expect(smaller.progress.usage).toEqual({ ...later, readings: [{ ...cached, output: 7 }] });
});

const report = fc
  .record({ input: fc.nat(9), other: fc.nat(9), output: fc.nat(9), total: fc.nat(9) })
  .map(({ input, other, output, total }) =>
    reported(0, 0, {
      readings: [
        plainMeters(input, output),
        plainMeters(other, output),
        plainMeters(input, total),
        plainMeters(other, total),
      ],
      contradiction: { prompt_tokens: input, completion_tokens: output },
    }),
  );

test('reports that contradict themselves keep all their readings, however often they change', () => {
  const plain = fc.tuple(fc.nat(9), fc.nat(9)).map(([input, output]) => reported(input, output));
  fc.assert(
    fc.property(fc.array(fc.oneof(report, plain), { minLength: 1 }), (reports) => {
      const { progress } = progressOf(reports.map((each) => ({ type: 'usage', usage: each }) as const));
      const { readings, contradiction } = progress.usage as ReportedUsage;
      expect(readings.length).toBeLessThanOrEqual(4);
      if (readings.length > 1) expect(contradiction).not.toBeNull();
      // The input of the last report with the most of it, and the output likewise: all that either may mean.
      const most = (count: (meters: Meters) => number) =>
        reports.findLast(
          ({ readings: [first] }) =>
            count(first) === Math.max(...reports.map(({ readings: [each] }) => count(each))),
        )?.readings ?? [];
      const values = (of: readonly Meters[], count: (meters: Meters) => number) => new Set(of.map(count));
      const outputOf = ({ output }: Meters) => output;
      expect(values(readings, inputTokensOf)).toEqual(values(most(inputTokensOf), inputTokensOf));
      expect(values(readings, outputOf)).toEqual(values(most(outputOf), outputOf));
    }),
  );
});

test('counts of zero are believed too', () => {
  expect(progressOf([usage(0, 0)]).progress.usage).toEqual(reported(0, 0));
});

describe('a failure', () => {
  test('ends what the client gets, and the usage is still read', () => {
    const { progress, written } = progressOf(
      [text('a'), failed(broken), text('b'), usage(3, 4)],
      [text('c')],
    );
    expect(written).toEqual([chunks.text('a'), '']);
    expect(progress).toMatchObject({
      failure: broken,
      isFinished: true,
      isUsageLost: false,
      deliveredTokens: 1,
      usage: reported(3, 4),
    });
  });

  test('of a limit of our own does not finish the answer', () => {
    const { progress } = progressOf([failed(beyondLimit())]);
    expect(progress).toMatchObject({ failure: { code: 'malformed_stream_chunk' }, isFinished: false });
    progress.take([finish]);
    expect(progress.isFinished).toBe(true);
  });

  test('is none for an answer that is complete', () => {
    const { progress, written } = progressOf(
      [text('a'), finish, usage(3, 4)],
      [failed(broken), ...Array.from({ length: 101 }, () => text('b')), usage(3, 5), failed(broken)],
    );
    expect(written).toEqual([chunks.text('a') + chunks.finish('stop'), '']);
    expect(progress).toMatchObject({
      failure: null,
      isEnded: false,
      deliveredTokens: 1,
      usage: reported(3, 5),
    });
    expect(progress.missing()).toBeNull();
    progress.take([end, usage(3, 6)]);
    expect(progress).toMatchObject({ isEnded: true, usage: reported(3, 5) });
  });

  test('is one as long as the usage is still to come', () => {
    const { progress } = progressOf([finish, failed(beyondLimit()), usage(3, 4)]);
    expect(progress.missing()).toBe('malformed_stream_chunk');
    expect(progress.usage).toEqual(reported(3, 4));
  });

  test('may have been the reason to finish, if the stream ends in good order all the same', () => {
    const { progress } = progressOf([text('a'), failed(beyondLimit()), usage(3, 4)]);
    progress.noteClosed();
    expect(progress.isFinished).toBe(true);
    const fine = progressOf([text('a'), usage(3, 4)]).progress;
    fine.noteClosed();
    expect(fine.isFinished).toBe(false);
    fine.take([finish]);
    fine.noteClosed();
    expect(fine.isFinished).toBe(true);
  });

  test('is the first one, whatever follows', () => {
    const { progress } = progressOf([failed(broken), failed(beyondLimit())]);
    expect(progress.failure).toBe(broken);
  });

  test('may have taken the usage with it, which no later one brings back', () => {
    const { progress } = progressOf([{ type: 'failure', error: broken, isUsageLost: true }, failed(broken)]);
    expect(progress.isUsageLost).toBe(true);
  });
});

describe('the same text again and again', () => {
  const times = (count: number, piece = 'x') => Array.from({ length: count }, () => text(piece));

  test('is passed on a hundred times', () => {
    const { progress, written } = progressOf(times(100));
    expect(written).toEqual([chunks.text('x').repeat(100)]);
    expect(progress.failure).toBeNull();
    expect(progressOf(times(100, '')).progress.failure).toBeNull();
  });

  test('fails the stream after that, by the fault of the request', () => {
    const { progress, written } = progressOf(times(99), [text('x'), text('x'), text('y')]);
    expect(written).toEqual([chunks.text('x').repeat(99), chunks.text('x')]);
    expect(progress.failure).toMatchObject({
      code: 'repeated_streaming_chunk_limit',
      upstreamStatus: null,
      retryAfterSeconds: null,
      isProvoked: true,
    });
    expect(progress.deliveredTokens).toBe(1);
    expect(progress.isFinished).toBe(false);
  });

  test('counts from one again after another text', () => {
    const { progress } = progressOf(times(100), [text('y')], times(100));
    expect(progress.failure).toBeNull();
  });

  test('does not hide an earlier failure', () => {
    const { progress } = progressOf([failed(broken)], times(101));
    expect(progress.failure).toBe(broken);
  });
});

test('what is delivered counts, text and arguments, while someone reads it', () => {
  const { progress } = progressOf([text('é €'), { type: 'tool_arguments', index: 0, text: '{"é"}' }]);
  expect(progress).toMatchObject({ hasText: true, deliveredTokens: 2 });
  progress.isDelivering = false;
  progress.take([text(' more')]);
  expect(progress.deliveredTokens).toBe(2);
  expect(progressOf([text('')]).progress.hasText).toBe(false);
  expect(progressOf([text('a'), text('')]).progress.hasText).toBe(true);
  expect(progressOf([text('…')]).progress).toMatchObject({ hasText: true, deliveredTokens: 0 });
});

test.each([
  ['without a reason to finish', [text('a'), usage(1, 1)], 'provider_stream_error'],
  ['without usage', [text('a'), finish], 'usage_missing'],
  ['after a failure, even with both', [failed(broken), finish, usage(1, 1)], 'provider_timeout'],
  ['with both', [text('a'), finish, usage(1, 1)], null],
] as [string, ChatEvent[], string | null][])('what a stream %s is missing', (_name, events, code) => {
  expect(progressOf(events).progress.missing()).toBe(code as ReturnType<StreamProgress['missing']>);
});

test('only what the client would see keeps another provider from taking over', () => {
  const events: ChatEvent[] = [
    text(''),
    { type: 'tool_call', index: 0, id: 'i', name: 'n' },
    { type: 'tool_arguments', index: 0, text: '' },
    finish,
    { type: 'reasoning', text: '' },
    { type: 'reasoning_end', signature: null },
    usage(1, 1),
    { type: 'wire', wire: 'x' },
    failed(broken),
    end,
  ];
  expect(events.filter(isUsable)).toEqual(events.slice(0, 6));
});

test('arguments go no further once they are nested too deeply, each call on its own', () => {
  const piece = (index: number, levels: number): ChatEvent => ({
    type: 'tool_arguments',
    index,
    text: '{"a":'.repeat(levels),
  });
  const { progress, written } = progressOf([piece(0, 64), piece(1, 64)], [piece(1, 1), piece(0, 1)]);
  expect(written).toEqual([
    chunks.toolArguments(0, '{"a":'.repeat(64)) + chunks.toolArguments(1, '{"a":'.repeat(64)),
    '',
  ]);
  expect(progress.failure).toMatchObject({ code: 'malformed_stream_chunk', isProvoked: true });
  expect(progressOf([failed(broken), piece(0, 65)]).progress.failure).toBe(broken);
});

test('reasoning is not part of an estimate, since it may be a summary that nobody is billed for', () => {
  const facts = { requestId: 'req_1', createdSeconds: 1_000, model: 'm', asked: null };
  const progress = new StreamProgress(new PassedOnWriter(facts));
  const wire = 'data: {}\n\n';
  progress.take([{ type: 'reasoning', text: 'What would the user want to know first?', wire }]);
  expect(progress).toMatchObject({ deliveredTokens: 0, hasText: false });
  progress.take([{ type: 'text', text: 'Two words', wire }]);
  expect(progress).toMatchObject({ deliveredTokens: 2, hasText: true });
});

test('reasoning alone is no text in an answer that was not streamed, either', () => {
  const reasoning = { type: 'reasoning', text: 'hm', signature: null } as const;
  expect(hasText([])).toBe(false);
  expect(hasText([reasoning, { type: 'text', text: '' }])).toBe(false);
  expect(hasText([reasoning, { type: 'text', text: 'x' }])).toBe(true);
  expect(hasText([reasoning, { type: 'tool_call', id: 'i', name: 'n', arguments: '' }])).toBe(true);
});
