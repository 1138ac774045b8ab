/** What a decision provider may answer: only what fits the questions gets through. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { readVerdict } from '../../src/decisions/answers.ts';
import type { Question } from '../../src/decisions/decider.ts';
import { presentDecision } from '../../src/decisions/present.ts';

const questions = new Map<string, Question>([
  ['safe', { type: 'noul', instructions: 'It is safe.' }],
  [
    'route',
    {
      type: 'choice',
      instructions: 'Where to?',
      options: new Map([
        ['left', 'L'],
        ['right', 'R'],
      ]),
    },
  ],
  ['grade', { type: 'score', instructions: 'How good?', levels: ['bad', 'fair', 'good'] }],
]);

const safe = { type: 'noul', noul: 0.25 };
const route = { type: 'choice', choice: 'left', probabilities: { left: 0.7, right: 0.3 } };
const grade = {
  type: 'score',
  score: 1.3,
  probabilities: { '0': 0.2, '1': 0.3, '2': 0.5 },
  legend: { '0': 'bad', '1': 'fair', '2': 'good' },
};
const answers = { safe, route, grade };
const good = { model: 'v1', answers, usage: { input_tokens: 10, output_tokens: 3 } };

const upstream = { provider: 'P', status: 200, requestId: 'up-1' };

function shown(body: unknown) {
  const verdict = readVerdict(body, questions);
  return verdict && presentDecision({ ...verdict, upstream, latencyMs: 12 }, 'req_1');
}

test('a good answer is returned in the form of the contract, and nothing else is', () => {
  const more = { ...good, id: 'x', debug: { key: 'secret' } };
  const fuller = { ...more, answers: { ...answers, safe: { ...safe, confidence: 0.9, note: 'x' } } };
  expect(shown(fuller) as unknown).toEqual({
    model: 'v1',
    answers,
    usage: { input_tokens: 10, output_tokens: 3 },
    service: {
      request_id: 'req_1',
      latency_ms: 12,
      provider: 'P',
      upstream_status: 200,
      upstream_request_id: 'up-1',
    },
  });
});

test('confidence is shown where it is given, a legend where it is not', () => {
  const given = {
    ...good,
    answers: {
      safe,
      route: { ...route, confidence: 0.6 },
      grade: { ...grade, legend: undefined, confidence: null },
    },
  };
  expect(shown(given)?.answers as unknown).toEqual({ safe, route: { ...route, confidence: 0.6 }, grade });
});

const withAnswer = (changes: Partial<Record<keyof typeof answers, unknown>>) => ({
  ...good,
  answers: { ...answers, ...changes },
});

describe('what does not fit is refused', () => {
  test.each<[string, unknown]>([
    ['no object', []],
    ['null', null],
    ['an error', { error: { message: 'x' } }],
    ['no model', { ...good, model: undefined }],
    ['an empty model', { ...good, model: '' }],
    ['a model that is no text', { ...good, model: 3 }],
    ['a model without end', { ...good, model: 'x'.repeat(201) }],
    ['no usage', { ...good, usage: undefined }],
    ['half a usage', { ...good, usage: { input_tokens: 1 } }],
    ['a negative usage', { ...good, usage: { input_tokens: -1, output_tokens: 0 } }],
    ['a fraction of a token', { ...good, usage: { input_tokens: 1.5, output_tokens: 0 } }],
    ['tokens as text', { ...good, usage: { input_tokens: '1', output_tokens: 0 } }],
    ['no answers', { ...good, answers: undefined }],
    ['a list of answers', { ...good, answers: [safe, route, grade] }],
    ['one answer too few', { ...good, answers: { safe, route } }],
    ['one answer too many', { ...good, answers: { ...answers, other: safe } }],
    ['another name', { ...good, answers: { safe, route, grades: grade } }],
    ['another type', withAnswer({ safe: route })],
    ['no type', withAnswer({ safe: { noul: 0.5 } })],
    ['no answer', withAnswer({ safe: null })],
    ['a noul above one', withAnswer({ safe: { ...safe, noul: 1.01 } })],
    ['a noul below zero', withAnswer({ safe: { ...safe, noul: -0.01 } })],
    ['a noul as text', withAnswer({ safe: { ...safe, noul: '0.5' } })],
    ['a noul as a flag', withAnswer({ safe: { ...safe, noul: true } })],
    ['no noul', withAnswer({ safe: { type: 'noul' } })],
    ['a choice that is no option', withAnswer({ route: { ...route, choice: 'back' } })],
    ['a choice that every object has', withAnswer({ route: { ...route, choice: 'toString' } })],
    ['no choice', withAnswer({ route: { ...route, choice: undefined } })],
    ['no probabilities', withAnswer({ route: { ...route, probabilities: undefined } })],
    ['a list of probabilities', withAnswer({ route: { ...route, probabilities: [0.7, 0.3] } })],
    ['an option without one', withAnswer({ route: { ...route, probabilities: { left: 1 } } })],
    ['one for no option', withAnswer({ route: { ...route, probabilities: { left: 0.5, back: 0.5 } } })],
    ['one too many', withAnswer({ route: { ...route, probabilities: { left: 0.7, right: 0.3, back: 0 } } })],
    ['one above one', withAnswer({ route: { ...route, probabilities: { left: 1.1, right: -0.1 } } })],
    ['a sum above one', withAnswer({ route: { ...route, probabilities: { left: 0.7, right: 0.32 } } })],
    ['a sum below one', withAnswer({ route: { ...route, probabilities: { left: 0.6, right: 0.3 } } })],
    ['a confidence above one', withAnswer({ route: { ...route, confidence: 2 } })],
    ['a confidence as text', withAnswer({ grade: { ...grade, confidence: 'high' } })],
    ['a score above the last level', withAnswer({ grade: { ...grade, score: 2.1 } })],
    ['a score below the first', withAnswer({ grade: { ...grade, score: -0.1 } })],
    ['no score', withAnswer({ grade: { ...grade, score: null } })],
    ['levels from one', withAnswer({ grade: { ...grade, probabilities: { 1: 0.2, 2: 0.3, 3: 0.5 } } })],
    ['another legend', withAnswer({ grade: { ...grade, legend: { 0: 'good', 1: 'fair', 2: 'bad' } } })],
    ['half a legend', withAnswer({ grade: { ...grade, legend: { 0: 'bad' } } })],
  ])('%s', (_, body) => {
    expect(readVerdict(body, questions)).toBeNull();
  });
});

test('the choice and the expected level are the provider’s own', () => {
  expect(shown(withAnswer({ route: { ...route, choice: 'right' } }))?.answers.route).toMatchObject({
    choice: 'right',
  });
  expect(shown(withAnswer({ grade: { ...grade, score: 2 } }))?.answers.grade).toMatchObject({ score: 2 });
});

test.each<[string, unknown, unknown]>([
  ['is shown when it is a number of US dollars', { amount: 0.0012, currency: 'USD' }, 0.0012],
  ['may be nothing', { amount: 0, currency: 'USD' }, 0],
  ['is not guessed from another currency', { amount: 1, currency: 'EUR' }, undefined],
  ['is not guessed from a bare number', 0.5, undefined],
  ['is not read from a text', { amount: '0.5', currency: 'USD' }, undefined],
  ['is not negative', { amount: -1, currency: 'USD' }, undefined],
  ['is none when it is null', null, undefined],
])('a charge %s', (_, charge, amount) => {
  expect(shown({ ...good, charge })?.charge).toEqual(
    amount === undefined ? undefined : { amount: amount as number, currency: 'USD' },
  );
});

/** A question and an answer to it that is right, for any names. */
const anyPair = fc
  .tuple(
    fc.uniqueArray(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '7', '')), {
      minLength: 2,
      maxLength: 12,
    }),
    fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 12, maxLength: 12 }),
    fc.integer({ min: 2, max: 6 }),
  )
  .map(([names, weights, decimals]) => {
    const total = names.reduce((sum, _, index) => sum + (weights[index] ?? 0), 0);
    const shares = names.map((_, index) =>
      Number((total === 0 ? 1 / names.length : (weights[index] ?? 0) / total).toFixed(decimals)),
    );
    const entries = names.map((name, index) => [name, shares[index] ?? 0] as const);
    return { names, entries };
  });

test('rounded probabilities of any options get through, under the same names', () => {
  fc.assert(
    fc.property(anyPair, ({ names, entries }) => {
      const options = new Map(names.map((name) => [name, 'It fits.']));
      const asked = new Map<string, Question>([
        ['__proto__', { type: 'choice', instructions: 'Which?', options }],
      ]);
      const answer = { type: 'choice', choice: names[0], probabilities: Object.fromEntries(entries) };
      // Written out, because a literal with this name would set the prototype.
      const body = JSON.parse(
        `{"model":"v","answers":{"__proto__":${JSON.stringify(answer)}},"usage":{"input_tokens":0,"output_tokens":0}}`,
      );
      const verdict = readVerdict(body, asked);
      if (verdict === null) throw new Error('It was refused.');
      const text = JSON.stringify(presentDecision({ ...verdict, upstream, latencyMs: 0 }, 'req_1'));
      const [[name, shownAnswer] = []] = Object.entries(JSON.parse(text).answers);
      expect(name).toBe('__proto__');
      expect(shownAnswer).toEqual(answer);
      expect(({} as Record<string, unknown>).type).toBeUndefined();
    }),
  );
});

test('anything at all is refused or fits', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (body) => {
      expect(readVerdict(body, questions)).toBeNull();
    }),
  );
});
