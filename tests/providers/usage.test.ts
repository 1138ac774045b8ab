/** What usage reports mean in each vendor's form: as the vendors write them, at random, and when they cannot be true. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ChunkWriter } from '../../src/chat/completions/present.ts';
import { StreamProgress } from '../../src/chat/stream-progress.ts';
import { inputTokensOf, type Meters } from '../../src/lib/meters.ts';
import { readAnthropicUsage } from '../../src/providers/anthropic-usage.ts';
import type { ReportedUsage } from '../../src/providers/chat.ts';
import { chatAdapters } from '../../src/providers/chat-call.ts';
import { readGoogleUsage } from '../../src/providers/google-usage.ts';
import { readOpenaiUsage } from '../../src/providers/openai-usage.ts';
import { defaultDialect, type Upstream } from '../../src/providers/upstream.ts';
import { reported } from '../support/reported-usage.ts';
import documented from './fixtures/usage.json';

type Fields = Readonly<Record<string, unknown>>;

const upstream: Upstream = {
  baseUrl: 'https://api.example',
  apiKey: null,
  model: 'm',
  maxOutputTokens: null,
  dialect: defaultDialect,
  requestId: 'req_0198c5a1b2c37d4e8f90a1b2c3d4e5f6',
};

const readers = { openai: readOpenaiUsage, anthropic: readAnthropicUsage, google: readGoogleUsage };
type Format = keyof typeof readers;

const metersOf = ([freshInput, cacheRead, cacheWrite, cacheWriteLong, output]: readonly number[]) =>
  ({ freshInput, cacheRead, cacheWrite, cacheWriteLong, output }) as Meters;

/** A whole answer and the events of a stream with this usage, where the vendor has it. */
const answers = {
  openai: (usage: Fields) => ({ choices: [{ message: { content: 'x' }, finish_reason: 'stop' }], usage }),
  anthropic: (usage: Fields) => ({ content: [], stop_reason: 'end_turn', usage }),
  google: (usage: Fields) => ({ candidates: [{ finishReason: 'STOP' }], usageMetadata: usage }),
};
const streams = {
  openai: (usage: Fields, where?: string): Fields[] => {
    if (where === 'choice') return [{ choices: [{ delta: {}, finish_reason: 'stop', usage }] }];
    return where === 'x_groq' ? [{ choices: [], x_groq: { usage } }] : [{ choices: [], usage }];
  },
  anthropic: ({ output_tokens, output_tokens_details, ...input }: Fields): Fields[] => [
    { type: 'message_start', message: { usage: { ...input, output_tokens: 1 } } },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens, output_tokens_details },
    },
  ],
  google: (usage: Fields): Fields[] => [
    {
      candidates: [{ content: { parts: [{ text: 'x' }] } }],
      usageMetadata: { promptTokenCount: usage.promptTokenCount },
    },
    { candidates: [{ finishReason: 'STOP' }], usageMetadata: usage },
  ],
};

function streamed(format: Format, events: readonly Fields[]): readonly ReportedUsage[] {
  const read = chatAdapters[format].openReader(upstream);
  return events
    .flatMap((event) => read(JSON.stringify(event)))
    .flatMap((event) => (event.type === 'usage' ? [event.usage] : []));
}

describe('as the vendors document it', () => {
  test.each(documented.map((entry) => [entry.vendor, entry] as const))('%s', (_vendor, entry) => {
    const format = entry.format as Format;
    const usage = entry.usage as Fields;
    const expected = {
      readings: [metersOf(entry.meters)],
      contradiction: null,
      reasoningTokens: entry.reasoning,
    };
    const whole = chatAdapters[format].readAnswer(answers[format](usage), upstream).usage;
    expect<unknown>(whole).toEqual(expected);
    const events = streams[format](usage, 'streamed' in entry ? entry.streamed : undefined);
    expect<unknown>(streamed(format, events)).toEqual([expected]);
  });
});

describe('in a stream that reports it more than once', () => {
  /** What is known when the stream is over. */
  function last(format: Format, events: readonly Fields[]) {
    const read = chatAdapters[format].openReader(upstream);
    const facts = { requestId: 'req_1', createdSeconds: 1_000, model: 'm', asked: { includeUsage: false } };
    const progress = new StreamProgress(new ChunkWriter(facts));
    for (const event of events) progress.take(read(JSON.stringify(event)));
    return progress.usage;
  }
  const grown = (output: number, cached: number): Record<Format, Fields[]> => ({
    // xAI and Qwen have it in every chunk.
    openai: [
      {
        choices: [{ delta: { content: 'x' } }],
        usage: {
          prompt_tokens: 1_000,
          completion_tokens: output,
          total_tokens: 1_000 + output,
          prompt_tokens_details: { cached_tokens: cached },
        },
      },
    ],
    anthropic: [
      {
        type: 'message_delta',
        delta: {},
        usage: {
          input_tokens: 1_000 - cached,
          cache_read_input_tokens: cached,
          cache_creation_input_tokens: 0,
          output_tokens: output,
        },
      },
    ],
    google: [
      {
        candidates: [{ finishReason: 'STOP' }],
        usageMetadata: {
          promptTokenCount: 1_000,
          cachedContentTokenCount: cached,
          candidatesTokenCount: output,
          totalTokenCount: 1_000 + output,
        },
      },
    ],
  });

  test.each(['openai', 'anthropic', 'google'] as const)('the last report counts: %s', (format) => {
    const expected = reported(0, 0, { readings: [metersOf([100, 900, 0, 0, 7])] });
    const growing = [...grown(1, 0)[format], ...grown(3, 900)[format], ...grown(7, 900)[format]];
    expect(last(format, growing)).toEqual(expected);
    expect(last(format, [...growing, ...growing])).toEqual(expected);
    expect(last(format, [...grown(7, 900)[format], ...grown(2, 900)[format]])).toEqual(expected);
  });

  test('one that repeats the totals without their details does not take these back', () => {
    const [first] = grown(3, 900).openai;
    const bare = { prompt_tokens: 1_000, completion_tokens: 7, total_tokens: 1_007 };
    const expected = reported(0, 0, { readings: [metersOf([100, 900, 0, 0, 7])] });
    // Groq has two places for it.
    for (const again of [
      { choices: [], usage: bare },
      { choices: [], x_groq: { usage: bare } },
    ])
      expect(last('openai', [first as Fields, again])).toEqual(expected);
    const more = { choices: [], usage: { ...bare, prompt_tokens: 1_001, total_tokens: 1_008 } };
    expect(last('openai', [first as Fields, more])).toEqual(reported(1_001, 7));
  });
});

const count = fc.integer({ min: 0, max: 2 ** 45 });
const few = fc.oneof(fc.constant(0), count);
const meters: fc.Arbitrary<Meters> = fc.record({
  freshInput: count,
  cacheRead: few,
  cacheWrite: few,
  cacheWriteLong: few,
  output: count,
});
/** How a vendor writes down what it counted: which of several possible fields it has. */
const choice = fc.nat(4);

function openaiForm(of: Meters, reasoning: number, names: number, hasTotal: boolean): Fields {
  const { cacheRead: read, cacheWrite, cacheWriteLong, output } = of;
  const input = inputTokensOf(of);
  const written = cacheWrite + cacheWriteLong;
  const times = { ttl_30m_tokens: cacheWrite, ttl_12h_tokens: cacheWriteLong };
  const details = {
    ...(names !== 1 && { cached_tokens: read }),
    ...(written > 0 && { cache_write_tokens: written }),
    ...(cacheWriteLong > 0 && { cache_write_tokens_details: times }),
  };
  const misses = { prompt_cache_hit_tokens: read, prompt_cache_miss_tokens: input - read };
  return {
    prompt_tokens: input,
    completion_tokens: output,
    ...(hasTotal && { total_tokens: input + output }),
    prompt_tokens_details: details,
    completion_tokens_details: { reasoning_tokens: Math.min(reasoning, output) },
    ...(names === 1 && { cached_tokens: read }),
    ...(names === 2 && misses),
    ...(names === 3 && { num_cached_tokens: read }),
  };
}

function anthropicForm(of: Meters, reasoning: number, parts: number): Fields {
  const { freshInput, cacheRead, cacheWrite, cacheWriteLong, output } = of;
  const times = { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: cacheWriteLong };
  const { ephemeral_1h_input_tokens } = times;
  return {
    input_tokens: freshInput,
    cache_read_input_tokens: cacheRead,
    ...(parts !== 1 && { cache_creation_input_tokens: cacheWrite + cacheWriteLong }),
    ...((parts !== 2 || cacheWriteLong > 0) && {
      cache_creation: parts === 3 ? { ephemeral_1h_input_tokens } : times,
    }),
    output_tokens: output,
    output_tokens_details: { thinking_tokens: Math.min(reasoning, output) },
  };
}

function googleForm({ freshInput, cacheRead, output }: Meters, thought: number, toolUse: number): Fields {
  const thoughts = Math.min(thought, output);
  const ofTools = Math.min(toolUse, freshInput);
  return {
    promptTokenCount: freshInput - ofTools + cacheRead,
    ...(cacheRead > 0 && { cachedContentTokenCount: cacheRead }),
    ...(output > thoughts && { candidatesTokenCount: output - thoughts }),
    thoughtsTokenCount: thoughts,
    ...(ofTools > 0 && { toolUsePromptTokenCount: ofTools }),
    totalTokenCount: freshInput + cacheRead + output,
  };
}

/** The vendor's own rule for all of its input. */
const totals: Record<Format, (usage: Fields) => number> = {
  openai: (usage) => Number(usage.prompt_tokens),
  anthropic: ({ input_tokens, cache_read_input_tokens, cache_creation_input_tokens, cache_creation }) => {
    const parts = (cache_creation ?? {}) as Record<string, number>;
    const written = cache_creation_input_tokens ?? Object.values(parts).reduce((sum, part) => sum + part, 0);
    return Number(input_tokens) + Number(cache_read_input_tokens) + Number(written);
  },
  google: (usage) => Number(usage.promptTokenCount) + Number(usage.toolUsePromptTokenCount ?? 0),
};

const consistent: Record<Format, fc.Arbitrary<readonly [Meters, Fields]>> = {
  openai: fc
    .tuple(meters, count, choice, fc.boolean())
    // Hits and misses are all there is where they are reported.
    .map(([of, ...how]) => [how[1] === 2 ? { ...of, cacheWrite: 0, cacheWriteLong: 0 } : of, how] as const)
    .map(([of, how]) => [of, openaiForm(of, ...how)] as const),
  anthropic: fc
    .tuple(meters, count, choice)
    .map(([of, reasoning, parts]) => [of, anthropicForm(of, reasoning, parts)] as const),
  google: fc
    .tuple(meters, count, few)
    .map(([of, ...how]) => [{ ...of, cacheWrite: 0, cacheWriteLong: 0 }, how] as const)
    .map(([of, how]) => [of, googleForm(of, ...how)] as const),
};

const formats = ['openai', 'anthropic', 'google'] as const;

describe.each(formats)('a report in the form of %s', (format) => {
  const read = readers[format];

  test('that is consistent has one reading, which adds up to the total by the rule of the vendor', () => {
    fc.assert(
      fc.property(consistent[format], ([of, usage]) => {
        const report = read(usage);
        expect(report?.contradiction).toBeNull();
        expect(report?.readings).toEqual([of]);
        expect(inputTokensOf(of)).toBe(totals[format](usage));
        expect(streamed(format, streams[format](usage))).toEqual(report === null ? [] : [report]);
      }),
    );
  });

  const noCount = fc.oneof(
    fc.constantFrom<unknown>(-1, 0.5, -(2 ** 53), 2 ** 53, 1e300, Number.POSITIVE_INFINITY, '7', '', true),
    fc.double({ max: -0.1, noNaN: true }),
    fc.constantFrom<unknown>(
      [],
      [1],
      {},
      { cached_tokens: 1 },
      JSON.parse('{"__proto__":{"cached_tokens":1}}'),
    ),
  );
  const junk = fc.oneof(noCount, count, fc.constant(null), fc.jsonValue());
  const isNoCount = (value: unknown) =>
    value !== null && value !== undefined && !(Number.isSafeInteger(value) && Number(value) >= 0);

  /** Every field that is read, with the path to it. */
  const places: Record<Format, readonly string[]> = {
    openai: [
      'total_tokens',
      'cached_tokens',
      'num_cached_tokens',
      'prompt_cache_hit_tokens',
      'prompt_cache_miss_tokens',
      'prompt_tokens_details.cached_tokens',
      'prompt_tokens_details.num_cached_tokens',
      'prompt_tokens_details.cache_write_tokens',
      'prompt_tokens_details.cache_creation_input_tokens',
      'prompt_tokens_details.cache_write_tokens_details.ttl_30m_tokens',
      'prompt_tokens_details.cache_write_tokens_details.ttl_12h_tokens',
      'completion_tokens_details.reasoning_tokens',
    ],
    anthropic: [
      'cache_read_input_tokens',
      'cache_creation_input_tokens',
      'cache_creation.ephemeral_5m_input_tokens',
      'cache_creation.ephemeral_1h_input_tokens',
      'output_tokens_details.thinking_tokens',
    ],
    google: ['toolUsePromptTokenCount', 'thoughtsTokenCount', 'totalTokenCount', 'cachedContentTokenCount'],
  };
  const essential: Record<Format, readonly string[]> = {
    openai: ['prompt_tokens', 'completion_tokens'],
    anthropic: ['input_tokens', 'output_tokens'],
    google: ['promptTokenCount', 'candidatesTokenCount'],
  };

  function withFields(entries: readonly (readonly [string, unknown])[]): Fields {
    const usage: Record<string, unknown> = {};
    for (const [path, value] of entries) {
      const names = path.split('.');
      const last = names.pop() as string;
      let fields = usage;
      for (const name of names) {
        fields[name] ??= {};
        fields = fields[name] as Record<string, unknown>;
      }
      fields[last] = value;
    }
    return usage;
  }

  const sane = (report: ReportedUsage | null) => {
    if (report === null) return;
    expect(report.readings.length).toBeLessThanOrEqual(60);
    for (const reading of report.readings) {
      for (const value of [...Object.values(reading), inputTokensOf(reading) + reading.output])
        expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
    }
    if (report.readings.length > 1) expect(report.contradiction).not.toBeNull();
    // What is kept as evidence survives being written down.
    expect(JSON.parse(JSON.stringify(report.contradiction))).toEqual(report.contradiction);
  };

  test('that is junk never throws, and never becomes a negative or broken count', () => {
    const whole = fc.array(fc.tuple(fc.constantFrom(...essential[format], ...places[format]), junk));
    fc.assert(fc.property(whole, (entries) => sane(read(withFields(entries)))));
    fc.assert(
      fc.property(fc.jsonValue(), (value) =>
        sane(read(typeof value === 'object' ? (value as Fields | null) : null)),
      ),
    );
  });

  test('with a field that is no count is marked, and what is there is kept under its name', () => {
    const fields = fc.uniqueArray(fc.tuple(fc.constantFrom(...places[format]), junk), {
      selector: ([path]) => path,
    });
    const [input = '', output = ''] = essential[format];
    fc.assert(
      fc.property(fields, fc.nat(1_000_000), fc.nat(1_000_000), (entries, used, made) => {
        const report = read(withFields([...entries, [input, used], [output, made]]));
        sane(report);
        if (report === null) return;
        for (const [path, value] of entries) {
          if (isNoCount(value)) expect(report.contradiction).not.toBeNull();
          if (report.contradiction === null || value === null) continue;
          expect(report.contradiction[path]).toBe(Number.isFinite(value) ? (value as number) : null);
        }
      }),
    );
  });
});

describe('a report that cannot be true is read in every way it can be', () => {
  const reading = (report: ReportedUsage | null) =>
    report?.readings.map((of) => Object.values(of) as number[]);
  /** Fresh, read, written, written for long, output. */
  const cases: [string, ReportedUsage | null, number[][], Fields][] = [
    [
      'more cached than input',
      readOpenaiUsage({
        prompt_tokens: 100,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 900 },
      }),
      [
        [0, 100, 0, 0, 5],
        [100, 900, 0, 0, 5],
      ],
      { prompt_tokens: 100, completion_tokens: 5, 'prompt_tokens_details.cached_tokens': 900 },
    ],
    [
      'read and written more than input',
      readOpenaiUsage({
        prompt_tokens: 1_000,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 900, cache_write_tokens: 900 },
      }),
      [
        [0, 900, 100, 0, 5],
        [1_000, 900, 900, 0, 5],
      ],
      {},
    ],
    [
      'more written for long than written',
      readOpenaiUsage({
        prompt_tokens: 1_000,
        completion_tokens: 5,
        prompt_tokens_details: {
          cache_write_tokens: 100,
          cache_write_tokens_details: { ttl_12h_tokens: 300 },
        },
      }),
      [
        [900, 0, 0, 100, 5],
        [700, 0, 0, 300, 5],
      ],
      {},
    ],
    [
      'two names, two counts',
      readOpenaiUsage({
        prompt_tokens: 1_000,
        completion_tokens: 5,
        cached_tokens: 900,
        prompt_tokens_details: { cached_tokens: 0 },
      }),
      [
        [1_000, 0, 0, 0, 5],
        [100, 900, 0, 0, 5],
      ],
      { cached_tokens: 900, 'prompt_tokens_details.cached_tokens': 0 },
    ],
    [
      'hits and misses that are not all of the prompt',
      readOpenaiUsage({
        prompt_tokens: 1_000,
        completion_tokens: 5,
        prompt_cache_hit_tokens: 900,
        prompt_cache_miss_tokens: 50,
      }),
      [
        [100, 900, 0, 0, 5],
        [50, 900, 0, 0, 5],
      ],
      { prompt_cache_hit_tokens: 900, prompt_cache_miss_tokens: 50 },
    ],
    [
      'more misses than there is prompt',
      readOpenaiUsage({ prompt_tokens: 100, completion_tokens: 5, prompt_cache_miss_tokens: 150 }),
      [
        [100, 0, 0, 0, 5],
        [150, 0, 0, 0, 5],
      ],
      { prompt_cache_miss_tokens: 150 },
    ],
    [
      'a total that is too small',
      readOpenaiUsage({ prompt_tokens: 100, completion_tokens: 5, total_tokens: 100 }),
      [
        [100, 0, 0, 0, 5],
        [100, 0, 0, 0, 0],
      ],
      { total_tokens: 100 },
    ],
    [
      'a total that is smaller than the input',
      readOpenaiUsage({ prompt_tokens: 100, completion_tokens: 5, total_tokens: 99 }),
      [[100, 0, 0, 0, 5]],
      { total_tokens: 99 },
    ],
    [
      'more reasoning than output',
      readOpenaiUsage({
        prompt_tokens: 100,
        completion_tokens: 5,
        completion_tokens_details: { reasoning_tokens: 6 },
      }),
      [[100, 0, 0, 0, 5]],
      { 'completion_tokens_details.reasoning_tokens': 6 },
    ],
    [
      'parts of what was written that are not its sum',
      readAnthropicUsage({
        input_tokens: 10,
        output_tokens: 5,
        cache_read_input_tokens: 7,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 100 },
      }),
      [
        [10, 7, 200, 100, 5],
        [10, 7, 100, 100, 5],
      ],
      { cache_creation_input_tokens: 300, 'cache_creation.ephemeral_5m_input_tokens': 100 },
    ],
    [
      'more thinking than output',
      readAnthropicUsage({
        input_tokens: 1,
        output_tokens: 5,
        output_tokens_details: { thinking_tokens: 6 },
      }),
      [[1, 0, 0, 0, 5]],
      {},
    ],
    [
      'more cached than the prompt, although the tools had as much',
      readGoogleUsage({
        promptTokenCount: 100,
        toolUsePromptTokenCount: 50,
        cachedContentTokenCount: 120,
        candidatesTokenCount: 5,
      }),
      [
        [50, 100, 0, 0, 5],
        [150, 120, 0, 0, 5],
      ],
      { cachedContentTokenCount: 120 },
    ],
    [
      'a total of Google that does not add up',
      readGoogleUsage({ promptTokenCount: 100, candidatesTokenCount: 5, totalTokenCount: 109 }),
      [
        [100, 0, 0, 0, 5],
        [100, 0, 0, 0, 9],
      ],
      { totalTokenCount: 109 },
    ],
  ];

  test.each(cases)('%s', (_name, report, readings, counts) => {
    expect(reading(report)).toEqual(readings);
    expect(report?.contradiction).toMatchObject(counts);
  });

  test('readings whose sum is not exact are left out, and without any other there is none', () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(readOpenaiUsage({ prompt_tokens: most, completion_tokens: 1 })).toBeNull();
    const cached = { prompt_tokens: 1, completion_tokens: 1, cached_tokens: most };
    expect(reading(readOpenaiUsage(cached))).toEqual([[0, 1, 0, 0, 1]]);
  });

  test.each([
    ['openai', { prompt_tokens: 9, completion_tokens: 1 }, 'prompt_tokens_details'],
    ['openai', { prompt_tokens: 9, completion_tokens: 1 }, 'completion_tokens_details'],
    ['anthropic', { input_tokens: 9, output_tokens: 1 }, 'cache_creation'],
    ['anthropic', { input_tokens: 9, output_tokens: 1 }, 'output_tokens_details'],
  ] as const)('details that are none are a contradiction: %s, %o, %s', (format, plain, name) => {
    for (const value of [5, 'many', true, [5]]) {
      const report = readers[format]({ ...plain, [name]: value });
      expect(reading(report)).toEqual([[9, 0, 0, 0, 1]]);
      expect(report?.contradiction).toMatchObject({ [name]: value === 5 ? 5 : null });
    }
    for (const value of [null, {}])
      expect(readers[format]({ ...plain, [name]: value })?.contradiction).toBeNull();
  });

  test('what can be worked out is no contradiction', () => {
    const plain = { prompt_tokens: 100, completion_tokens: 5 };
    expect(readOpenaiUsage({ ...plain, prompt_cache_miss_tokens: 40 })).toMatchObject({
      readings: [{ freshInput: 40, cacheRead: 60 }],
      contradiction: null,
    });
    // The total of Google may leave out what its own tools put into the prompt.
    const withTools = { promptTokenCount: 100, toolUsePromptTokenCount: 50, candidatesTokenCount: 5 };
    for (const totalTokenCount of [105, 155])
      expect(readGoogleUsage({ ...withTools, totalTokenCount })?.contradiction).toBeNull();
  });
});
