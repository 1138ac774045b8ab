/** Turns unknown JSON into an ImageRequest, or an error that names the parameter. Nothing is clamped, nothing ignored. */
import { z } from 'zod';
import { ApiError, type ErrorCode } from '../errors.ts';
import { valueAt } from '../json/path.ts';
import { firstProblem, type Problem, toApiError } from '../json/problem.ts';
import { imageRequestSchema } from './schema.ts';

/** `size` is null when the client leaves it to the model. */
export type ImageRequest = Readonly<{ model: string; prompt: string; size: string | null; count: number }>;

/** Compiled, a valid body is checked in a fraction of the time; an invalid one is checked again to find what is wrong. */
const schema = z.compile(imageRequestSchema, { strict: true });

export function parseImages(body: unknown): ImageRequest {
  const result = schema.safeParse(body);
  if (!result.success) throw errorOf(firstProblem(result.error.issues, body), body);
  const { model, prompt, size = null, n: count = 1 } = result.data;
  return { model, prompt, size, count };
}

/** Where the parameters are explained. */
export const docs = 'images#parameters';

/** Parameters whose invalid values have their own error code. */
const ownCodes: ReadonlyMap<unknown, ErrorCode> = new Map([
  ['n', 'invalid_n'],
  ['size', 'invalid_size'],
  ['response_format', 'invalid_response_format'],
]);

function errorOf(problem: Problem, body: unknown): ApiError {
  const [param] = problem.path;
  const code = ownCodes.get(param);
  if (code === undefined) return toApiError({ ...problem, docs });
  if (code === 'invalid_response_format' && valueAt(body, ['response_format']) === 'b64_json')
    return new ApiError('unsupported_parameter', {
      param: 'response_format',
      message: 'The response_format "b64_json" is not supported: use "url".',
      docs,
    });
  return new ApiError(code, { param: `${param}`, message: problem.message, docs });
}
