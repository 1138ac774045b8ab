/** Errors about a request in any dialect, in the words of the one that the client speaks. */
import { ApiError } from '../errors.ts';

/** By the names of the chat format, those of the dialect. */
export type OwnNames = ReadonlyMap<string, string>;

export function withOwnNames<Result>(names: OwnNames, run: () => Result): Result {
  try {
    return run();
  } catch (thrown) {
    throw thrown instanceof ApiError ? renamed(thrown, names) : thrown;
  }
}

/** Places inside a parameter are dropped: they differ between formats. */
function renamed(error: ApiError, names: OwnNames): ApiError {
  const [, name = ''] = /^(\w+)/.exec(error.param ?? '') ?? [];
  const own = names.get(name);
  return own === undefined ? error : error.with({ param: own, message: inOwnNames(error.message, names) });
}

export function inOwnNames(sentence: string, names: OwnNames): string {
  return sentence.replaceAll(/\w+/g, (word) => names.get(word) ?? word);
}
