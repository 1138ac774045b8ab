/** A chat model as a decision provider: how it is asked, and what is made of its numbers. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { chatCallOf } from '../../src/decisions/chat-question.ts';
import { readChatVerdict } from '../../src/decisions/chat-verdict.ts';
import type { DecisionRequest, Question } from '../../src/decisions/decider.ts';
import { chatAdapters } from '../../src/providers/chat-call.ts';
import { defaultDialect } from '../../src/providers/upstream.ts';
import { items } from '../support/chat-messages.ts';
import { reported } from '../support/reported-usage.ts';

const safe: Question = { type: 'noul', instructions: 'It is safe.' };
const route: Question = {
  type: 'choice',
  instructions: 'Where to?',
  options: new Map([
    ['__proto__', 'L'],
    ['constructor', 'R'],
  ]),
};
const grade: Question = { type: 'score', instructions: 'How good?', levels: ['bad', 'fair', 'good'] };
const questions = new Map<string, Question>([
  ['__proto__', safe],
  ['toString', route],
  ['7', grade],
]);
const request: DecisionRequest = {
  model: 'm',
  questions,
  text: '{"model":"m","state":{"id":12345678901234567890,"__proto__":{"a":1}},"questions":{}}',
};

const usage = { inputTokens: 10, outputTokens: 5 };
const answerOf = (content: string | null) =>
  ({ items: items(content), finishReason: 'stop', usage: reported(10, 5) }) as const;
const verdictOf = (value: unknown, asked: ReadonlyMap<string, Question> = questions) =>
  readChatVerdict(answerOf(JSON.stringify(value)), asked, 'gpt');

describe('the question', () => {
  const call = chatCallOf(request);

  test('has the state and the questions as data, with every digit', () => {
    const [system, user] = call.messages;
    expect(system?.role).toBe('system');
    if (user?.role !== 'user') throw new TypeError('expected a user message');
    const text = String(user.content);
    expect(text).toContain('"id":12345678901234567890');
    const { state, questions: asked } = JSON.parse(text);
    expect(Object.keys(state)).toEqual(['id', '__proto__']);
    expect(asked).toEqual([
      // The order of names that look like numbers is JavaScript's own; here it is that of the map.
      { id: 'q1', name: '__proto__', type: 'noul', instructions: 'It is safe.' },
      {
        id: 'q2',
        name: 'toString',
        type: 'choice',
        instructions: 'Where to?',
        options: [
          { id: 'o1', name: '__proto__', description: 'L' },
          { id: 'o2', name: 'constructor', description: 'R' },
        ],
      },
      {
        id: 'q3',
        name: '7',
        type: 'score',
        instructions: 'How good?',
        levels: [
          { id: 'l0', description: 'bad' },
          { id: 'l1', description: 'fair' },
          { id: 'l2', description: 'good' },
        ],
      },
    ]);
  });

  test('has a schema of numbers under generated names', () => {
    const format = call.responseFormat;
    if (format?.type !== 'json_schema') throw new Error('No schema is asked for.');
    expect(format.strict).toBe(true);
    expect(format.schema).toMatchObject({
      type: 'object',
      additionalProperties: false,
      required: ['q1', 'q2', 'q3'],
      properties: {
        q1: { type: 'number' },
        q2: { type: 'object', required: ['o1', 'o2'], additionalProperties: false },
        q3: { type: 'object', required: ['l0', 'l1', 'l2'], additionalProperties: false },
      },
    });
    for (const name of ['__proto__', 'constructor', 'toString', 'safe'])
      expect(JSON.stringify(format.schema)).not.toContain(name);
  });

  test.each(Object.entries(chatAdapters))('can be carried by %s', (_, adapter) => {
    expect(adapter.unsupported(call, defaultDialect)).toBeNull();
  });
});

describe('the answer', () => {
  test('becomes probabilities under the names of the client', () => {
    const verdict = verdictOf({ q1: 0.25, q2: { o1: 0.2, o2: 0.6 }, q3: { l0: 0, l1: 0.5, l2: 0.5 } });
    expect(verdict).toMatchObject({ model: 'gpt', usage, chargeUsd: null });
    expect([...(verdict?.answers ?? [])]).toEqual([
      ['__proto__', { type: 'noul', probability: 0.25 }],
      [
        'toString',
        {
          type: 'choice',
          choice: 'constructor',
          probabilities: new Map([
            ['__proto__', 0.25],
            ['constructor', 0.6 / 0.8],
          ]),
          confidence: null,
        },
      ],
      [
        '7',
        {
          type: 'score',
          score: 1.5,
          probabilities: [0, 0.5, 0.5],
          legend: ['bad', 'fair', 'good'],
          confidence: null,
        },
      ],
    ]);
  });

  const good = { q1: 1, q2: { o1: 1, o2: 0 }, q3: { l0: 1, l1: 0, l2: 0 } };

  test.each<[string, unknown]>([
    ['no object', [1]],
    ['a question too few', { q1: 1, q2: good.q2 }],
    ['a question too many', { ...good, q4: 1 }],
    ['the names of the client', { safe: 1, route: good.q2, grade: good.q3 }],
    ['a probability above one', { ...good, q1: 1.2 }],
    ['a percentage', { ...good, q2: { o1: 60, o2: 40 } }],
    ['a negative one', { ...good, q2: { o1: 1, o2: -0.1 } }],
    ['one as text', { ...good, q1: '0.5' }],
    ['none', { ...good, q1: null }],
    ['an option too few', { ...good, q2: { o1: 1 } }],
    ['an option too many', { ...good, q2: { ...good.q2, o3: 0 } }],
    ['nothing likely at all', { ...good, q2: { o1: 0, o2: 0 } }],
    ['a list of levels', { ...good, q3: [1, 0, 0] }],
  ])('with %s is none', (_, value) => {
    expect(verdictOf(good)).not.toBeNull();
    expect(verdictOf(value)).toBeNull();
  });

  test.each([null, '', 'I cannot answer that.', '```json\n{}\n```', '{"q1":'])(
    'that says %p is none',
    (content) => {
      expect(readChatVerdict(answerOf(content), questions, 'gpt')).toBeNull();
    },
  );

  test('without usage has none', () => {
    const told = { ...answerOf(JSON.stringify(good)), usage: null };
    expect(readChatVerdict(told, questions, 'gpt')).toBeNull();
  });
});

test('for any numbers: parts of one, the likeliest chosen, the level between the first and the last', () => {
  const anyShares = fc
    .array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 20 })
    .filter((shares) => shares.some((share) => share > 1e-300));
  fc.assert(
    fc.property(anyShares, (shares) => {
      const asked = new Map<string, Question>([
        ['c', { type: 'choice', instructions: 'x', options: new Map(shares.map((_, i) => [`${i}`, 'x'])) }],
        ['s', { type: 'score', instructions: 'x', levels: shares.map(() => 'x') }],
      ]);
      const verdict = verdictOf(
        {
          q1: Object.fromEntries(shares.map((share, index) => [`o${index + 1}`, share])),
          q2: Object.fromEntries(shares.map((share, index) => [`l${index}`, share])),
        },
        asked,
      );
      const chosen = verdict?.answers.get('c');
      const scored = verdict?.answers.get('s');
      if (chosen?.type !== 'choice' || scored?.type !== 'score') throw new Error('It was refused.');
      const parts = [...chosen.probabilities.values()];
      expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(1, 9);
      expect(chosen.probabilities.get(chosen.choice)).toBe(Math.max(...parts));
      expect(scored.score).toBeGreaterThanOrEqual(0);
      expect(scored.score).toBeLessThanOrEqual(shares.length - 1);
    }),
  );
});
