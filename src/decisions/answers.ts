/**
 * Checks a decision provider's answer against the questions: the same names and types, with plausible numbers. The option
 * that it chose and the level that it expects are not recomputed.
 */
import { type Fields, isCount, isObject } from '../providers/wire.ts';
import type { Answer, Question, Questions, Verdict } from './decider.ts';

const maxModel = 200;
/** Each probability may be rounded to two decimals, but their sum may be off by no more than this. */
const maxRoundingError = 0.005;
const maxSumError = 0.05;
/** What adding up floats may lose. */
const epsilon = 1e-9;

/** Null when anything does not fit. */
export function readVerdict(body: unknown, questions: Questions): Verdict | null {
  if (!isObject(body)) return null;
  const { model } = body;
  if (typeof model !== 'string' || model.trim() === '' || model.length > maxModel) return null;
  const answers = readAnswers(body.answers, questions);
  const usage = readUsage(body.usage);
  if (answers === null || usage === null) return null;
  return { model, answers, usage, chargeUsd: readCharge(body.charge) };
}

function readAnswers(value: unknown, questions: Questions): ReadonlyMap<string, Answer> | null {
  const given = readNamed(value, questions.keys());
  if (given === null) return null;
  const answers = new Map<string, Answer>();
  for (const [name, question] of questions) {
    const answer = readAnswer(given.get(name), question);
    if (answer === null) return null;
    answers.set(name, answer);
  }
  return answers;
}

function readAnswer(value: unknown, question: Question): Answer | null {
  if (!isObject(value) || value.type !== question.type) return null;
  if (question.type === 'noul') return isShare(value.noul) ? { type: 'noul', probability: value.noul } : null;
  // Some servers write null instead of omitting a field.
  const confidence = value.confidence ?? null;
  if (confidence !== null && !isShare(confidence)) return null;
  return question.type === 'choice'
    ? readChoice(value, question.options, confidence)
    : readScore(value, question.levels, confidence);
}

function readChoice(
  { choice, probabilities: given }: Fields,
  options: ReadonlyMap<string, string>,
  confidence: number | null,
): Answer | null {
  const probabilities = readShares(given, [...options.keys()]);
  if (probabilities === null || typeof choice !== 'string' || !options.has(choice)) return null;
  return { type: 'choice', choice, probabilities, confidence };
}

function readScore(
  { score, probabilities: given, legend }: Fields,
  levels: readonly string[],
  confidence: number | null,
): Answer | null {
  const probabilities = readShares(given, namesOf(levels));
  if (probabilities === null || !isLegend(legend, levels)) return null;
  if (typeof score !== 'number' || !(score >= 0 && score <= levels.length - 1)) return null;
  return { type: 'score', score, probabilities: [...probabilities.values()], legend: levels, confidence };
}

/** The legend may be omitted; a different one would mean that the levels were mixed up. */
function isLegend(value: unknown, levels: readonly string[]): boolean {
  if (value === undefined || value === null) return true;
  const given = readNamed(value, namesOf(levels));
  return given !== null && levels.every((description, level) => given.get(`${level}`) === description);
}

/** Levels are named by their numbers, from 0. */
function namesOf(levels: readonly string[]): readonly string[] {
  return levels.map((_, level) => `${level}`);
}

/** Exactly one probability for each name, which add up to one. */
function readShares(value: unknown, names: readonly string[]): ReadonlyMap<string, number> | null {
  const given = readNamed(value, names);
  if (given === null) return null;
  const shares = new Map<string, number>();
  let sum = 0;
  for (const name of names) {
    const share = given.get(name);
    if (!isShare(share)) return null;
    shares.set(name, share);
    sum += share;
  }
  const tolerance = Math.min(maxRoundingError * names.length, maxSumError) + epsilon;
  return Math.abs(sum - 1) <= tolerance ? shares : null;
}

/** The values of an object that has exactly these names. */
function readNamed(value: unknown, names: Iterable<string>): ReadonlyMap<string, unknown> | null {
  if (!isObject(value)) return null;
  const given = new Map(Object.entries(value));
  const expected = new Set(names);
  return given.size === expected.size && expected.isSubsetOf(given) ? given : null;
}

function readUsage(value: unknown): Verdict['usage'] | null {
  if (!isObject(value) || !isCount(value.input_tokens) || !isCount(value.output_tokens)) return null;
  return { inputTokens: value.input_tokens, outputTokens: value.output_tokens };
}

/** Only an amount in US dollars counts as a charge. */
function readCharge(value: unknown): number | null {
  if (!isObject(value) || value.currency !== 'USD') return null;
  const { amount } = value;
  return typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 ? amount : null;
}

export function isShare(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1;
}
