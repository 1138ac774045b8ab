/** POST /v1/decisions: typed questions about a state, answered deterministically from a hash. */

import type { Call, Endpoint } from './endpoint.ts';
import { BadRequest } from './errors.ts';
import { isObject, readBody, rejectUnknown } from './fields.ts';
import { sendJson } from './json-answer.ts';
import { openai } from './openai-wire.ts';
import type { Scenario } from './scenario.ts';
import { countTokens } from './usage.ts';

type Question =
  | { type: 'noul'; instructions: string }
  | { type: 'choice'; instructions: string; criteria: Record<string, string> }
  | { type: 'score'; instructions: string; criteria: string[] };

type DecisionRequest = {
  model: string;
  state: Record<string, unknown>;
  questions: Record<string, Question>;
};

type Shares = { readonly [name: string]: number };

const modelVersion = 'sandbox-decision-2026-11-01';
const requestFields = new Set(['model', 'state', 'questions']);
const questionFields = new Set(['type', 'instructions', 'criteria']);
const tokensPerAnswer = 8;

export const decisions: Endpoint<DecisionRequest> = {
  format: openai,
  read: readRequest,
  userText: ({ questions }) =>
    Object.values(questions)
      .map(({ instructions }) => instructions)
      .join('\n'),
  answer: answerRequest,
};

function readRequest(given: unknown): DecisionRequest {
  const body = readBody(given, requestFields);
  if (typeof body.model !== 'string' || body.model === '') throw new BadRequest('Name a model.', 'model');
  if (!isObject(body.state)) throw new BadRequest('The state must be an object.', 'state');
  const { questions } = body;
  if (!isObject(questions) || Object.keys(questions).length === 0) {
    throw new BadRequest('Ask at least one question.', 'questions');
  }
  for (const [name, question] of Object.entries(questions)) {
    if (isObject(question)) rejectUnknown(question, questionFields, `questions.${name}`);
    if (!isQuestion(question)) throw new BadRequest('The question is not well formed.', `questions.${name}`);
  }
  return body as DecisionRequest;
}

function isQuestion(question: unknown): question is Question {
  if (!isObject(question) || typeof question.instructions !== 'string' || question.instructions === '')
    return false;
  if (question.type === 'noul') return question.criteria === undefined;
  if (question.type === 'choice')
    return isObject(question.criteria) && Object.keys(question.criteria).length >= 2;
  return question.type === 'score' && Array.isArray(question.criteria) && question.criteria.length >= 2;
}

function answerRequest(call: Call<DecisionRequest>): Response {
  const { state, questions } = call.input;
  const { scenario } = call.reading;
  const entries = Object.entries(questions).map(([name, question]) => [
    name,
    answerQuestion(question, `${name} ${question.instructions} ${JSON.stringify(state)}`),
  ]);
  const answers = spoil(Object.fromEntries(entries), scenario['bad-answer']);
  const [inputTokens, outputTokens] = scenario.usage ?? [
    countTokens(JSON.stringify({ state, questions })),
    entries.length * tokensPerAnswer,
  ];
  const usage = scenario['no-usage'] ? null : { input_tokens: inputTokens, output_tokens: outputTokens };
  const charge = scenario.charge === undefined ? null : { amount: scenario.charge, currency: 'USD' };
  const body = { model: modelVersion, answers, ...(usage && { usage }), ...(charge && { charge }) };
  return sendJson(call, JSON.stringify(body), usage);
}

function answerQuestion(question: Question, seed: string): Record<string, unknown> {
  if (question.type === 'noul') return { type: 'noul', noul: (Bun.hash.crc32(seed) % 10_001) / 10_000 };
  const probabilities = share(Object.keys(question.criteria), seed);
  const confidence = Math.max(...Object.values(probabilities));
  if (question.type === 'choice') {
    const choice = Object.keys(probabilities).find((name) => probabilities[name] === confidence);
    return { type: 'choice', choice, probabilities, confidence };
  }
  const expected = Object.entries(probabilities).reduce(
    (sum, [level, part]) => sum + Number(level) * part,
    0,
  );
  const score = Math.round(expected * 10_000) / 10_000;
  return { type: 'score', score, probabilities, legend: { ...question.criteria }, confidence };
}

/** Divides 1 among the names in multiples of 1/10,000, so that the decimals add up exactly. */
function share(names: readonly string[], seed: string): Shares {
  const weights = names.map((name) => 1 + (Bun.hash.crc32(`${seed} ${name}`) % 1000));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const parts = weights.map((weight) => Math.floor((weight * 10_000) / total));
  const rest = 10_000 - parts.reduce((sum, part) => sum + part, 0);
  return Object.fromEntries(
    names.map((name, index) => [name, ((parts[index] ?? 0) + (index === 0 ? rest : 0)) / 10_000]),
  );
}

/** Makes the first answer not fit its question. */
function spoil(answers: Record<string, Record<string, unknown>>, how: Scenario['bad-answer']): unknown {
  const [first] = Object.entries(answers);
  if (first === undefined || how === undefined) return answers;
  const [name, answer] = first;
  if (how === 'missing') return Object.fromEntries(Object.entries(answers).slice(1));
  if (how === 'type') return { ...answers, [name]: { ...answer, type: 'other' } };
  return { ...answers, [name]: { ...answer, noul: 1.5, score: -1, probabilities: { other: 1.5 } } };
}
