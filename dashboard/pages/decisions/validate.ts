/** Checks a decision by the rules of the server, so that mistakes are shown while one types. */
import { type JsonObject as Fields, isObject, parseJson } from '../../kit/json.ts';
import { type QuestionDraft, questionsOf } from './question-form.ts';

export type Path = readonly (string | number)[];
export type Problem = Readonly<{ path: Path; message: string }>;

export const maxBodyBytes = 262_144;

const fieldsByType: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['noul', ['type', 'instructions']],
  ['choice', ['type', 'instructions', 'criteria']],
  ['score', ['type', 'instructions', 'criteria']],
]);

type Read<Value> = Readonly<{ value: Value | null; problems: readonly Problem[] }>;

export function readState(text: string): Read<Fields> {
  return readObject(text, ['state'], 'The state');
}

export function readQuestions(text: string): Read<Fields> {
  const { value, problems } = readObject(text, ['questions'], 'The questions');
  return value === null ? { value, problems } : { value, problems: questionProblems(value) };
}

function readObject(text: string, path: Path, what: string): Read<Fields> {
  const { value, problem } = parseJson(text);
  if (problem !== null) return { value: null, problems: [{ path, message: problem }] };
  if (!isObject(value))
    return { value: null, problems: [{ path, message: `${what} must be an object: { … }.` }] };
  const repeated = repeatedName(text);
  if (repeated !== null)
    return {
      value: null,
      problems: [{ path, message: `The name “${repeated}” appears twice in one object.` }],
    };
  return { value, problems: [] };
}

/** Checks questions in the form of the API. */
export function questionProblems(questions: Fields): readonly Problem[] {
  const named = Object.entries(questions);
  if (named.length === 0) return [{ path: ['questions'], message: 'Ask at least one question.' }];
  return named.flatMap(([name, question]) => problemsOfQuestion(question, ['questions', name]));
}

function problemsOfQuestion(question: unknown, path: Path): readonly Problem[] {
  if (!isObject(question))
    return [{ path, message: 'A question must be an object with a type and instructions.' }];
  const { type, instructions, criteria } = question;
  const known = fieldsByType.get(type);
  if (known === undefined)
    return [{ path: [...path, 'type'], message: 'The type must be "choice", "noul" or "score".' }];
  return [
    ...Object.keys(question)
      .filter((field) => !known.includes(field))
      .map((field) => ({
        path: [...path, field],
        message: `A question of type ${type} has no field “${field}”.`,
      })),
    ...textProblems(instructions, [...path, 'instructions'], 'Enter the instructions.'),
    ...(type === 'choice' ? optionProblems(criteria, [...path, 'criteria']) : []),
    ...(type === 'score' ? levelProblems(criteria, [...path, 'criteria']) : []),
  ];
}

function optionProblems(criteria: unknown, path: Path): readonly Problem[] {
  if (!isObject(criteria))
    return [{ path, message: 'The criteria of a choice must be an object of options.' }];
  const options = Object.entries(criteria);
  return [
    ...(options.length < 2 ? [{ path, message: 'Add at least two options.' }] : []),
    ...options.flatMap(([name, description]) =>
      textProblems(description, [...path, name], 'Describe this option.'),
    ),
  ];
}

function levelProblems(criteria: unknown, path: Path): readonly Problem[] {
  if (!Array.isArray(criteria))
    return [{ path, message: 'The criteria of a score must be a list of levels.' }];
  const levels: readonly unknown[] = criteria;
  return [
    ...(levels.length < 2 ? [{ path, message: 'Add at least two levels.' }] : []),
    ...levels.flatMap((level, at) => textProblems(level, [...path, at], 'Describe this level.')),
  ];
}

/** White space alone counts as empty. */
function textProblems(value: unknown, path: Path, message: string): readonly Problem[] {
  return typeof value === 'string' && value.trim() !== '' ? [] : [{ path, message }];
}

/** Checks the form, where questions and options may have the same name, which an object cannot represent. */
export function formProblems(drafts: readonly QuestionDraft[]): readonly Problem[] {
  const names = drafts.map(({ name }) => name);
  return [
    ...drafts.flatMap(({ name, type, options }, at) => [
      ...nameProblems(name, names, ['form', at, 'name'], 'question'),
      ...(type === 'choice'
        ? options.flatMap((option, place) =>
            nameProblems(
              option.name,
              options.map((other) => other.name),
              ['form', at, 'options', place],
              'option',
            ),
          )
        : []),
    ]),
    ...questionProblems(questionsOf(drafts)),
  ];
}

function nameProblems(
  name: string,
  all: readonly string[],
  path: Path,
  what: 'question' | 'option',
): readonly Problem[] {
  if (name.trim() === '') return [{ path, message: `Name this ${what}.` }];
  return all.filter((other) => other === name).length > 1
    ? [{ path, message: `Another ${what} already has this name.` }]
    : [];
}

/** The message for a path, if there is one. */
export function problemAt(problems: readonly Problem[], ...path: Path): string | undefined {
  return problems.find(
    (problem) => problem.path.length === path.length && problem.path.every((step, at) => step === path[at]),
  )?.message;
}

/** `team › criteria › billing: Describe this option.` */
export function describeProblem({ path, message }: Problem): string {
  const place = path.slice(1).join(' › ');
  return place === '' ? message : `${place}: ${message}`;
}

export function sizeProblem(body: string): string | null {
  const sizeBytes = new TextEncoder().encode(body).length;
  return sizeBytes > maxBodyBytes ? 'the state and the questions together exceed 256 KB.' : null;
}

/**
 * The first name that appears twice in one object of a valid JSON text, or null. Parsers silently keep the last of two
 * fields with the same name, so the text itself is checked.
 */
export function repeatedName(json: string): string | null {
  const objects: Set<string>[] = [];
  let lastText = '';
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}:]/g)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    // Only a name is followed by a colon.
    else if (token === ':') {
      const name = String(JSON.parse(lastText));
      if (objects.at(-1)?.has(name)) return name;
      objects.at(-1)?.add(name);
    } else lastText = token;
  }
  return null;
}

/**
 * The body of a decision, from JSON exactly as it was written. Parsing and serializing it would round large numbers, and
 * the decision would be about another state than the one on the screen.
 */
export function bodyText(model: string, stateJson: string, questionsJson: string): string {
  return `{"model":${JSON.stringify(model)},"state":${stateJson},"questions":${questionsJson}}`;
}
