/** Adds the likely cure to problems that clients of other APIs run into. The code and the param stay the same. */
import { formatPath, type JsonPath, valueAt } from '../json/path.ts';
import type { Problem } from '../json/problem.ts';

export function helpful(problem: Problem, body: unknown): Problem {
  const { path, code } = problem;
  if (path.length === 1 && code === 'unsupported_parameter') return { ...problem, ...unsupportedHelp(path) };
  if (path[0] !== 'messages') return { ...problem, docs: 'chat#parameters' };
  const [, , field] = path;
  if (field === 'role' && valueAt(body, path) === 'developer')
    return {
      ...problem,
      message: `The role "developer" of ${formatPath(path.slice(0, 2))} is not supported: use "system".`,
      docs: 'clients#messages',
    };
  return { ...problem, docs: code === 'unsupported_parameter' ? 'clients#messages' : 'chat#messages' };
}

function unsupportedHelp([name]: JsonPath): Partial<Problem> {
  if (name === 'max_completion_tokens')
    return {
      message:
        'The parameter max_completion_tokens is not supported: use max_tokens. Your client may have renamed it.',
      docs: 'clients#max-tokens',
    };
  return { docs: 'clients#rejected-parameters' };
}
