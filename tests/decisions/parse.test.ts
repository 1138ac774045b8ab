/** What may be asked: the body of a decision, and the place of the first thing that is wrong with it. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DecisionFault, parseDecision } from '../../src/decisions/parse.ts';
import { formatPath } from '../../src/json/path.ts';

const noul = { type: 'noul', instructions: 'It is safe.' };
const choice = { type: 'choice', instructions: 'Where to?', criteria: { left: 'L', right: 'R' } };
const score = { type: 'score', instructions: 'How good?', criteria: ['bad', 'good'] };
const good = { model: 'm', state: {}, questions: { a: noul } };

function parse(body: unknown) {
  const text = JSON.stringify(body);
  return parseDecision(JSON.parse(text), text);
}

function faultOf(body: unknown): string {
  try {
    parse(body);
  } catch (thrown) {
    if (thrown instanceof DecisionFault) return `${formatPath(thrown.path)} ${thrown.message}`;
    throw thrown;
  }
  return 'none';
}

test('each type of question is read', () => {
  const { model, questions, text } = parse({ ...good, questions: { a: noul, b: choice, c: score } });
  expect(model).toBe('m');
  expect([...questions]).toEqual([
    ['a', { type: 'noul', instructions: 'It is safe.' }],
    [
      'b',
      {
        type: 'choice',
        instructions: 'Where to?',
        options: new Map([
          ['left', 'L'],
          ['right', 'R'],
        ]),
      },
    ],
    ['c', { type: 'score', instructions: 'How good?', levels: ['bad', 'good'] }],
  ]);
  expect(JSON.parse(text).questions.b).toEqual(choice);
});

const asking = (question: unknown) => ({ ...good, questions: { a: question } });

describe('what is wrong is named', () => {
  test.each<[string, unknown]>([
    ['model is required', { state: {}, questions: { a: noul } }],
    ['model must be', { ...good, model: 7 }],
    ['model must be', { ...good, model: null }],
    ['model must be', { ...good, model: '' }],
    ['state is required', { model: 'm', questions: { a: noul } }],
    ['state must be', { ...good, state: '{}' }],
    ['state must be', { ...good, state: [] }],
    ['state must be', { ...good, state: null }],
    ['questions is required', { model: 'm', state: {} }],
    ['questions must be', { ...good, questions: [noul] }],
    ['questions must be', { ...good, questions: JSON.stringify({ a: noul }) }],
    ['questions must hold at least one', { ...good, questions: {} }],
    ['questions.a must be', asking(null)],
    ['questions.a must be', asking('Is it?')],
    ['questions.a.type is required', asking({ instructions: 'x' })],
    ['questions.a.type must be', asking({ ...noul, type: 'boolean' })],
    ['questions.a.type must be', asking({ ...noul, type: 'constructor' })],
    ['questions.a.type must be', asking({ ...noul, type: ['noul'] })],
    ['questions.a.instructions is required', asking({ type: 'noul' })],
    ['questions.a.instructions must be', asking({ ...noul, instructions: '' })],
    ['questions.a.instructions must be', asking({ ...noul, instructions: ' \n\t' })],
    ['questions.a.instructions must be', asking({ ...noul, instructions: ['x'] })],
    ['questions.a.criteria is not supported', asking({ ...noul, criteria: { a: 'x', b: 'y' } })],
    ['questions.a.criteria is not supported', asking({ ...noul, criteria: null })],
    ['questions.a.criteria is required', asking({ ...choice, criteria: undefined })],
    ['questions.a.criteria must be', asking({ ...choice, criteria: ['L', 'R'] })],
    ['questions.a.criteria must be', asking({ ...choice, criteria: null })],
    ['questions.a.criteria must hold at least two', asking({ ...choice, criteria: {} })],
    ['questions.a.criteria must hold at least two', asking({ ...choice, criteria: { left: 'L' } })],
    ['questions.a.criteria.right must be', asking({ ...choice, criteria: { left: 'L', right: '' } })],
    ['questions.a.criteria.right must be', asking({ ...choice, criteria: { left: 'L', right: ' ' } })],
    ['questions.a.criteria.right must be', asking({ ...choice, criteria: { left: 'L', right: 1 } })],
    ['questions.a.criteria is required', asking({ ...score, criteria: undefined })],
    ['questions.a.criteria must be', asking({ ...score, criteria: { 0: 'bad', 1: 'good' } })],
    ['questions.a.criteria must hold at least two', asking({ ...score, criteria: ['good'] })],
    ['questions.a.criteria[1] must be', asking({ ...score, criteria: ['bad', ''] })],
    ['questions.a.criteria[0] must be', asking({ ...score, criteria: [null, 'good'] })],
    ['questions.a.weight is not supported', asking({ ...choice, weight: 2 })],
    [
      'questions.a.__proto__ is not supported',
      JSON.parse(
        '{"model":"m","state":{},"questions":{"a":{"type":"noul","instructions":"x","__proto__":{}}}}',
      ),
    ],
    ['stream is not supported', { ...good, stream: true }],
    ['stream is not supported', { ...good, stream: false }],
    ['messages is not supported', { ...good, messages: [] }],
    ['temperature is not supported', { ...good, temperature: 0 }],
    ['max_tokens is not supported', { ...good, max_tokens: 1 }],
    ['tools is not supported', { ...good, tools: [] }],
  ])('%s', (fault, body) => {
    expect(faultOf(body)).toStartWith(fault);
  });

  test('an unknown field comes first: it says that the client speaks of something else', () => {
    expect(faultOf({ messages: [], stream: true })).toStartWith('messages is not supported');
  });
});

const names = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  ' ',
  '0',
  '-1',
  '4294967295',
  'ünïcödé 👋',
  'x'.repeat(10_000),
  'a.b["c"]',
];

test('names are data, whatever they are', () => {
  const named = (value: unknown) => names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const criteria = `{${named('It fits.').join(',')}}`;
  const question = `{"type":"choice","instructions":"Which?","criteria":${criteria}}`;
  const questions = `{${names.map((name) => `${JSON.stringify(name)}:${question}`).join(',')}}`;
  const text = `{"model":"m","state":{"__proto__":{"a":1}},"questions":${questions}}`;
  const parsed = parseDecision(JSON.parse(text), text);
  expect(new Set(parsed.questions.keys())).toEqual(new Set(names));
  for (const asked of parsed.questions.values())
    expect(asked.type === 'choice' && new Set(asked.options.keys())).toEqual(new Set(names));
  expect(parsed.text).toBe(text);
});

test('any body is either refused with a place or read whole', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (questions, state) => {
      const outcome = faultOf({ model: 'm', state, questions });
      expect(outcome === 'none' || /^(state|questions)\b/.test(outcome)).toBe(true);
    }),
  );
});
