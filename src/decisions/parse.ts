/** Parses the body of POST /api/decisions/run. Unknown fields are errors. */
import { type Fields, isObject } from '../providers/wire.ts';
import type { DecisionRequest, Question, Questions } from './decider.ts';

type Path = readonly (string | number)[];

/** `message` continues the path, as in "questions.a.type is required". */
export class DecisionFault extends Error {
  readonly path: Path;

  constructor(path: Path, message: string) {
    super(message);
    this.name = 'DecisionFault';
    this.path = path;
  }
}

const requestFields = ['model', 'state', 'questions'];
const fieldsByType: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['noul', ['type', 'instructions']],
  ['choice', ['type', 'instructions', 'criteria']],
  ['score', ['type', 'instructions', 'criteria']],
]);

/** `text` is what the body was read from. */
export function parseDecision(body: Fields, text: string): DecisionRequest {
  rejectOthers(
    body,
    [],
    requestFields,
    'is not supported: a decision takes model, state and questions, and is not streamed',
  );
  const { model, state, questions } = body;
  const name = readText(model, ['model']);
  readObject(state, ['state'], 'an object, not JSON inside a string');
  return { model: name, questions: readQuestions(questions), text };
}

function readQuestions(value: unknown): Questions {
  const path = ['questions'];
  const named = Object.entries(readObject(value, path, 'an object of questions by name'));
  if (named.length === 0) throw new DecisionFault(path, 'must hold at least one question');
  return new Map(named.map(([name, question]) => [name, readQuestion(question, [...path, name])]));
}

function readQuestion(value: unknown, path: Path): Question {
  const fields = readObject(value, path, 'an object with type and instructions');
  const { type } = fields;
  const known = fieldsByType.get(type);
  if (known === undefined)
    throw new DecisionFault([...path, 'type'], `${verb(type)} "choice", "noul" or "score"`);
  const isNoul = type === 'noul';
  rejectOthers(
    fields,
    path,
    known,
    isNoul ? 'is not supported in a question of this type' : 'is not supported',
  );
  const instructions = readText(fields.instructions, [...path, 'instructions']);
  const criteriaPath = [...path, 'criteria'];
  if (isNoul) return { type, instructions };
  return type === 'choice'
    ? { type, instructions, options: readOptions(fields.criteria, criteriaPath) }
    : { type: 'score', instructions, levels: readLevels(fields.criteria, criteriaPath) };
}

function readOptions(value: unknown, path: Path): ReadonlyMap<string, string> {
  const options = Object.entries(readObject(value, path, 'an object of descriptions by option'));
  if (options.length < 2) throw new DecisionFault(path, 'must hold at least two options');
  return new Map(options.map(([name, description]) => [name, readText(description, [...path, name])]));
}

function readLevels(value: unknown, path: Path): readonly string[] {
  if (!Array.isArray(value))
    throw new DecisionFault(path, `${verb(value)} an array of descriptions by level`);
  if (value.length < 2) throw new DecisionFault(path, 'must hold at least two levels');
  return value.map((description, level) => readText(description, [...path, level]));
}

function rejectOthers(fields: Fields, path: Path, known: readonly string[], message: string): void {
  const other = Object.keys(fields).find((name) => !known.includes(name));
  if (other !== undefined) throw new DecisionFault([...path, other], message);
}

function readObject(value: unknown, path: Path, expected: string): Fields {
  if (!isObject(value)) throw new DecisionFault(path, `${verb(value)} ${expected}`);
  return value;
}

/** White space alone counts as empty. */
function readText(value: unknown, path: Path): string {
  if (typeof value !== 'string' || value.trim() === '')
    throw new DecisionFault(path, `${verb(value)} a non-empty string`);
  return value;
}

function verb(value: unknown): string {
  return value === undefined ? 'is required:' : 'must be';
}
