/** What a form was refused for: beside the field that is to blame, and otherwise above the button. */
import { problemOf } from '../api/problem.ts';
import { ProblemNote } from './error-state.tsx';

/** The message for a field, by its name on the wire. */
export function fieldProblem(error: unknown, param: string): string | null {
  if (error === null || error === undefined) return null;
  const problem = problemOf(error);
  return problem.param === param ? problem.message : null;
}

type FormProblemProps = Readonly<{
  error: unknown;
  /** The names of the fields that show their own. */
  fields?: readonly string[];
}>;

export function FormProblem({ error, fields = [] }: FormProblemProps) {
  if (error === null || error === undefined) return null;
  const problem = problemOf(error);
  if (problem.param !== null && fields.includes(problem.param)) return null;
  return <ProblemNote problem={problem} />;
}
