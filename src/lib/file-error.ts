/** What the system says about a file that cannot be used, for the person who named it. */
import { OperatorError } from './operator-error.ts';

const reasons: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'its folder does not exist'],
  ['ENOTDIR', 'a part of its path is not a folder'],
  ['EISDIR', 'it is a folder'],
  ['EACCES', 'this user may not do that'],
  ['EPERM', 'this user may not do that'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the disk quota is used up'],
]);

/** An OperatorError for a file-system error, which may be about another file; any other error is returned as it is. */
export function explainFileError(error: unknown, file: string, what: 'read' | 'written'): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const path = 'path' in error && typeof error.path === 'string' ? error.path : file;
  if (what === 'read' && error.code === 'ENOENT') return new OperatorError(`There is no file ${path}.`);
  const code = String(error.code);
  const reason = reasons.get(code);
  return new OperatorError(
    `${path} cannot be ${what}${reason === undefined ? '' : `: ${reason}`} (${code}).`,
  );
}
