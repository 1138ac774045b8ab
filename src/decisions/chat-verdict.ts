/** Turns a chat model's answer into probabilities: checked, and divided by their sum, which is rarely exactly one. */
import { inputTokensOf } from '../lib/meters.ts';
import { type ChatAnswer, textOf } from '../providers/chat.ts';
import { type Fields, isObject, parseObject } from '../providers/wire.ts';
import { isShare } from './answers.ts';
import { levelId, optionId, questionId } from './chat-question.ts';
import type { Answer, Question, Questions, Verdict } from './decider.ts';

/** Null when it does not answer these questions. `model` is the ID in the catalogue. */
export function readChatVerdict(
  { items, usage }: ChatAnswer,
  questions: Questions,
  model: string,
): Verdict | null {
  const given = parseObject(textOf(items));
  if (given === null || usage === null || Object.keys(given).length !== questions.size) return null;
  const answers = new Map<string, Answer>();
  for (const [index, [name, question]] of [...questions].entries()) {
    const answer = readAnswer(given[questionId(index)], question);
    if (answer === null) return null;
    answers.set(name, answer);
  }
  const [meters] = usage.readings;
  const used = { inputTokens: inputTokensOf(meters), outputTokens: meters.output };
  return { model, answers, usage: used, chargeUsd: null };
}

function readAnswer(value: unknown, question: Question): Answer | null {
  if (question.type === 'noul') return isShare(value) ? { type: 'noul', probability: value } : null;
  if (!isObject(value)) return null;
  return question.type === 'choice'
    ? readChoice(value, [...question.options.keys()])
    : readScore(value, question.levels);
}

function readChoice(given: Fields, options: readonly string[]): Answer | null {
  const shares = normalize(
    given,
    options.map((_, index) => optionId(index)),
  );
  if (shares === null) return null;
  const probabilities = new Map(options.map((name, index) => [name, shares[index] ?? 0]));
  const choice = options[indexOfLargest(shares)] ?? '';
  return { type: 'choice', choice, probabilities, confidence: null };
}

/** The first one, when several are equal. */
function indexOfLargest(shares: readonly number[]): number {
  return shares.reduce((best, share, index) => (share > (shares[best] ?? 0) ? index : best), 0);
}

function readScore(given: Fields, levels: readonly string[]): Answer | null {
  const probabilities = normalize(
    given,
    levels.map((_, index) => levelId(index)),
  );
  if (probabilities === null) return null;
  const expected = probabilities.reduce((sum, share, level) => sum + share * level, 0);
  // Floating-point addition may slightly exceed the last level.
  const score = Math.min(expected, levels.length - 1);
  return { type: 'score', score, probabilities, legend: levels, confidence: null };
}

/** The numbers under these names, scaled to a sum of one; null unless the names match exactly. */
function normalize(given: Fields, names: readonly string[]): readonly number[] | null {
  const shares = names.map((name) => given[name]).filter(isShare);
  const sum = shares.reduce((total, share) => total + share, 0);
  if (shares.length !== names.length || Object.keys(given).length !== names.length || sum === 0) return null;
  return shares.map((share) => share / sum);
}
