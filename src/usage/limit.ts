import { ApiError } from '../errors.ts';

const defaultLimit = 50;
const most = 500;

/** How many records to return: any integer will do, and the nearest that is served is taken. */
export function parseLimit(text: string | null): number {
  if (text === null) return defaultLimit;
  if (!/^-?[0-9]+$/.test(text))
    throw new ApiError('invalid_parameter', {
      param: 'limit',
      message: 'The query parameter limit is invalid: expected an integer.',
    });
  return Math.min(Math.max(Number(text), 1), most);
}
