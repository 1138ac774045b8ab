/** The page of decisions refuses what the server refuses, and lets through what it lets through. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { exampleIn, examples, normalizedJson } from '../../dashboard/pages/decisions/examples.ts';
import {
  draftsOf,
  emptyQuestion,
  moved,
  type QuestionDraft,
  questionsOf,
} from '../../dashboard/pages/decisions/question-form.ts';
import { adviceForFailure, secondsLeft } from '../../dashboard/pages/decisions/run-decision.ts';
import {
  bodyText,
  formProblems,
  maxBodyBytes,
  problemAt,
  questionProblems,
  readQuestions,
  readState,
  repeatedName,
  sizeProblem,
} from '../../dashboard/pages/decisions/validate.ts';
import { decisionErrorTable } from '../../src/decisions/errors.ts';
import { maxDecisionBytes } from '../../src/decisions/handler.ts';
import { DecisionFault, parseDecision } from '../../src/decisions/parse.ts';
import { findDuplicateKey } from '../../src/json/keys.ts';

function isTakenByServer(questions: unknown, state: unknown = {}): boolean {
  const body = { model: 'model', state, questions };
  try {
    parseDecision(body, JSON.stringify(body));
    return true;
  } catch (thrown) {
    if (thrown instanceof DecisionFault) return false;
    throw thrown;
  }
}

/** Names that already have a meaning in objects are names like any other. */
const name = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString', '0', 'odd name', '');
const text = fc.constantFrom('', ' ', 'words', '\n\t', 'more words');
const anything = fc.oneof(
  text,
  fc.constantFrom(null, 7, true, []),
  fc.dictionary(name, text),
  fc.array(text),
);
const question = fc.record(
  {
    type: fc.constantFrom('choice', 'noul', 'score', 'other', null),
    instructions: fc.oneof(text, fc.constant(3)),
    criteria: anything,
    extra: fc.constant(1),
  },
  { requiredKeys: [] },
);
/** Most of them valid, so that both answers of the server occur. */
const goodQuestion = fc.oneof(
  fc.record({ type: fc.constant('noul'), instructions: fc.constant('words') }),
  fc.record({
    type: fc.constant('choice'),
    instructions: fc.constant('words'),
    criteria: fc.dictionary(name, text, { noNullPrototype: true }),
  }),
  fc.record({ type: fc.constant('score'), instructions: fc.constant('words'), criteria: fc.array(text) }),
);
const named = (of: fc.Arbitrary<unknown>) =>
  fc.uniqueArray(fc.tuple(name, of), { selector: ([key]) => key, maxLength: 3 }).map(Object.fromEntries);

test('questions are good here if and only if the server takes them', () => {
  let taken = 0;
  fc.assert(
    fc.property(fc.oneof(named(goodQuestion), named(question)), (questions: Record<string, unknown>) => {
      const isTaken = isTakenByServer(questions);
      taken += isTaken ? 1 : 0;
      expect(questionProblems(questions).length === 0).toBe(isTaken);
    }),
    { numRuns: 2_000 },
  );
  expect(taken).toBeGreaterThan(100);
});

test('a state is good here if and only if the server takes it', () => {
  const questions = { a: { type: 'noul', instructions: 'words' } };
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(readState(json).problems.length === 0).toBe(isTakenByServer(questions, JSON.parse(json)));
    }),
  );
  expect(readState('{"a":').problems[0]?.message).toStartWith('This is not JSON: ');
});

test('the examples are good', () => {
  expect(examples).toHaveLength(3);
  for (const { questions, state } of examples) {
    expect(isTakenByServer(questions, state)).toBe(true);
    expect(formProblems(draftsOf(questions))).toEqual([]);
  }
});

describe('the form', () => {
  const draft = (part: Partial<QuestionDraft>): QuestionDraft => ({
    ...emptyQuestion,
    name: 'a',
    type: 'noul',
    instructions: 'words',
    ...part,
  });

  test('keeps every name, whatever it means elsewhere', () => {
    const names = ['__proto__', 'constructor', 'hasOwnProperty'];
    const options = names.map((option) => ({ name: option, description: 'words' }));
    const drafts = names.map((each) => draft({ name: each, type: 'choice', options }));
    expect(formProblems(drafts)).toEqual([]);
    const json = JSON.stringify(questionsOf(drafts));
    expect(Object.keys(JSON.parse(json))).toEqual(names);
    const { value, problems } = readQuestions(json);
    expect(problems).toEqual([]);
    expect(draftsOf(value ?? {})).toEqual(drafts);
    expect(isTakenByServer(value)).toBe(true);
  });

  test('and JSON are two views of the same questions', () => {
    fc.assert(
      fc.property(named(goodQuestion), (questions: Record<string, unknown>) => {
        if (questionProblems(questions).length > 0) return;
        expect(JSON.stringify(questionsOf(draftsOf(questions)))).toBe(JSON.stringify(questions));
      }),
    );
  });

  test('says where something is missing or duplicated', () => {
    const problems = formProblems([
      draft({ instructions: ' ' }),
      draft({ name: '' }),
      draft({
        name: 'c',
        type: 'choice',
        options: [
          { name: 'x', description: 'words' },
          { name: 'x', description: '' },
        ],
      }),
      draft({ name: 'c', type: 'score', levels: ['only one'] }),
    ]);
    expect(problemAt(problems, 'questions', 'a', 'instructions')).toBe('Enter the instructions.');
    expect(problemAt(problems, 'form', 1, 'name')).toBe('Name this question.');
    expect(problemAt(problems, 'form', 2, 'name')).toBe('Another question already has this name.');
    expect(problemAt(problems, 'form', 2, 'options', 1)).toBe('Another option already has this name.');
    expect(problemAt(problems, 'questions', 'c', 'criteria')).toBe('Add at least two levels.');
    expect(problemAt(problems, 'form', 0, 'name')).toBeUndefined();
  });

  test('moves by one step and stays at the ends', () => {
    expect(moved(['a', 'b', 'c'], 1, -1)).toEqual(['b', 'a', 'c']);
    expect(moved(['a', 'b', 'c'], 1, 1)).toEqual(['a', 'c', 'b']);
    expect(moved(['a', 'b'], 0, -1)).toEqual(['a', 'b']);
    expect(moved(['a', 'b'], 1, 1)).toEqual(['a', 'b']);
  });
});

test('what is too large is said before it is sent', () => {
  expect(maxBodyBytes).toBe(maxDecisionBytes);
  expect(sizeProblem('ä'.repeat(maxBodyBytes / 2))).toBeNull();
  expect(sizeProblem('ä'.repeat(maxBodyBytes / 2 + 1))).toContain('256 KB');
});

describe('what is sent', () => {
  test('is what was written, to the last digit', () => {
    const state = '{ "id": 12345678901234567890, "rate": 1.10, "text": "}\\u0041" }';
    const questions = '{"a": {"type": "noul", "instructions": "x"}}';
    const sent = bodyText('mo"del', state, questions);
    expect(sent).toContain(state);
    expect(sent).toContain(questions);
    expect(JSON.parse(sent)).toEqual({
      model: 'mo"del',
      state: JSON.parse(state),
      questions: JSON.parse(questions),
    });
  });

  test('has no name twice in one object, as the server requires', () => {
    const written = fc.constantFrom('"a"', '"__proto__"', String.raw`"\u0061"`, String.raw`"\":{"`, '"}"');
    const value = fc.oneof(fc.json({ maxDepth: 2 }), fc.constant('[{"a":{}},{"a":[]}]'));
    const json = fc
      .array(fc.tuple(written, value), { maxLength: 4 })
      .map((fields) => `{${fields.map((field) => field.join(' : ')).join(',')}}`);
    let repeated = 0;
    fc.assert(
      fc.property(json, (text) => {
        const found = repeatedName(`{"state":${text}}`);
        if (found !== null) repeated++;
        expect(found !== null).toBe(findDuplicateKey(`{"state":${text}}`) !== null);
      }),
      { numRuns: 500 },
    );
    expect(repeated).toBeGreaterThan(50);
    expect(readState('{"id":1,"a":{"b":1},"\\u0061":2}').problems[0]?.message).toBe(
      'The name “a” appears twice in one object.',
    );
  });
});

test('every failure has its own advice', () => {
  const rows = Object.values(decisionErrorTable);
  const otherwise = adviceForFailure('something else', 500);
  for (const { type, status } of rows.filter((row) => row.type !== 'provider_error' || row.status === 422))
    expect(adviceForFailure(type, status)).not.toBe(otherwise);
  expect(adviceForFailure('not_configured', 503)).toContain('DECISIONS_BASE_URL');
});

test('a countdown ends when the provider said, not before and not later', () => {
  expect([0, 1, 999, 1_000, 6_500, 7_000, 9_000].map((ms) => secondsLeft(5_000, 7, 5_000 + ms))).toEqual([
    7, 7, 7, 6, 1, 0, 0,
  ]);
});

test('an example is known in either view until something in it is changed', () => {
  for (const example of examples) {
    const state = JSON.stringify(example.state, null, 2);
    const ofForm = JSON.stringify(questionsOf(draftsOf(example.questions)));
    expect(exampleIn(state, ofForm)).toBe(example);
    expect(exampleIn(state, JSON.stringify(example.questions, null, 2))).toBe(example);
    expect(exampleIn(state.replace('"', '"x'), ofForm)).toBeNull();
    expect(exampleIn(state, ofForm.replace('instructions":"', 'instructions":"x'))).toBeNull();
    expect(exampleIn('{', ofForm)).toBeNull();
  }
  expect(normalizedJson('{ "a": [1] }')).toBe('{"a":[1]}');
  expect(normalizedJson('{')).toBeNull();
});
