import { ApiError } from '../errors.ts';

const noQuery: Query = new URLSearchParams();

export type Query = Readonly<Pick<URLSearchParams, 'get' | 'has'>>;

/** The query of a request. Unknown and repeated parameters are rejected by name. */
export function readQuery(url: string, known: readonly string[]): Query {
  const start = url.indexOf('?');
  if (start < 0) return noQuery;
  const query = new URLSearchParams(url.slice(start + 1));
  for (const name of query.keys()) {
    if (!known.includes(name))
      throw new ApiError('unsupported_parameter', {
        param: name,
        message: `The query parameter ${JSON.stringify(name)} is not supported.`,
      });
    if (query.getAll(name).length > 1)
      throw new ApiError('invalid_parameter', {
        param: name,
        message: `The query parameter ${name} is given more than once.`,
      });
  }
  return query;
}

const limitPattern = /^(?:[1-9][0-9]?|100)$/;

/** The size of a page. Nothing is clamped: a page of another size than asked for would be a surprise. */
export function parseLimit(text: string | null, defaultLimit: number): number {
  if (text === null) return defaultLimit;
  if (!limitPattern.test(text)) throw invalidQuery('limit', 'an integer from 1 to 100');
  return Number(text);
}

/** `expected` describes what a client should have sent. */
export function invalidQuery(param: string, expected: string): ApiError {
  return new ApiError('invalid_parameter', {
    param,
    message: `The query parameter ${param} is invalid: expected ${expected}.`,
  });
}
