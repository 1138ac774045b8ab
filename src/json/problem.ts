/**
 * The one problem of an invalid body that is reported to the client. The messages in a schema describe what was expected;
 * this adds where, and what was there instead.
 */
import type { z } from 'zod';
import { ApiError, type ErrorCode } from '../errors.ts';
import { formatPath, type JsonPath, valueAt } from './path.ts';

type Issue = z.core.$ZodIssue;

export type Problem = Readonly<{
  code: Extract<
    ErrorCode,
    'invalid_request' | 'missing_required_parameter' | 'invalid_parameter' | 'unsupported_parameter'
  >;
  path: JsonPath;
  message: string;
  /** Where the documentation explains it, such as `clients#max-tokens`. */
  docs?: string;
}>;

/**
 * Unknown top-level fields come first: they mean that the client follows another contract, and other problems may follow
 * from that. Then the order of the document decides, with what is missing after what is there.
 */
export function firstProblem(issues: readonly Issue[], body: unknown): Problem {
  const problems = issues.flatMap((issue) => problemsOf(issue, [], body));
  const [first] = problems
    .map((problem) => ({
      problem,
      isForeign: problem.code === 'unsupported_parameter' && problem.path.length === 1,
      position: positionOf(problem.path, body),
    }))
    .toSorted(
      (a, b) => Number(b.isForeign) - Number(a.isForeign) || comparePositions(a.position, b.position),
    );
  return first?.problem ?? { code: 'invalid_request', path: [], message: 'The request is invalid.' };
}

/** The parsed body, or an error that names the parameter. `shown` is the part of the body that errors may quote. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  shown = body,
): z.output<Schema> {
  const result = schema.safeParse(body);
  if (!result.success) throw toApiError(firstProblem(result.error.issues, shown));
  return result.data;
}

export function toApiError({ code, path, message, docs }: Problem): ApiError {
  return new ApiError(code, {
    message,
    ...(path.length === 0 ? {} : { param: formatPath(path) }),
    ...(docs === undefined ? {} : { docs }),
  });
}

function problemsOf(issue: Issue, prefix: JsonPath, body: unknown): Problem[] {
  const path = [...prefix, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))];
  if (issue.code === 'unrecognized_keys') {
    // They come in the order of the document, and one is enough.
    return [unsupported([...path, ...issue.keys.slice(0, 1)])];
  }
  // A field that may only be null has no meaning here.
  if (issue.code === 'invalid_type' && issue.expected === 'null') return [unsupported(path)];
  const meant = issue.code === 'invalid_union' ? meantBranch(issue.errors) : null;
  if (meant !== null) return meant.flatMap((inner) => problemsOf(inner, path, body));
  const max = issue.code === 'too_big' ? Number(issue.maximum) : null;
  return [describeProblem(path, issue.message, body, max)];
}

function unsupported(path: JsonPath): Problem {
  const message = `The parameter ${formatPath(path)} is not supported.`;
  return { code: 'unsupported_parameter', path, message };
}

/** Of several accepted forms, the one whose type the client sent; null when it sent none of them. */
function meantBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | null {
  const close = branches.filter(
    (issues) =>
      !issues.some(
        ({ code, path }) => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value'),
      ),
  );
  return close.length === 1 ? (close[0] ?? null) : null;
}

/** `max` is the limit that the value exceeds; null when that is not the problem. */
function describeProblem(path: JsonPath, expected: string, body: unknown, max: number | null): Problem {
  if (path.length === 0)
    return { code: 'invalid_request', path, message: `The request body must be ${expected}.` };
  const where = formatPath(path);
  const value = valueAt(body, path);
  if (value === undefined) {
    const message = `The parameter ${where} is required: expected ${expected}.`;
    return { code: 'missing_required_parameter', path, message };
  }
  const found =
    max !== null && Array.isArray(value) ? `${value.length} of at most ${max}` : describeValue(value);
  const message = `The parameter ${where} is invalid: expected ${expected}, got ${found}.`;
  return { code: 'invalid_parameter', path, message };
}

const maxEcho = 40;

function describeValue(value: unknown): string {
  if (value === '') return 'an empty string';
  if (typeof value === 'string') return value.length > maxEcho ? 'another string' : JSON.stringify(value);
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return `${value}`;
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  return 'an object';
}

/** The positions of a path's steps in their parents. What is missing comes after everything that is there. */
function positionOf(path: JsonPath, body: unknown): readonly number[] {
  return path.map((step, index) => {
    if (typeof step === 'number') return step;
    const parent = valueAt(body, path.slice(0, index));
    const place = typeof parent === 'object' && parent !== null ? Object.keys(parent).indexOf(step) : -1;
    return place < 0 ? Number.POSITIVE_INFINITY : place;
  });
}

function comparePositions(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const left = a[index] ?? 0;
    const right = b[index] ?? 0;
    if (left !== right) return left < right ? -1 : 1;
  }
  return a.length - b.length;
}
