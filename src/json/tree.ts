/** Walks a parsed body of bounded depth: finds what JSON.parse accepts but no request needs, and counts the keys. */
import type { JsonPath } from './path.ts';
import { isRawJson } from './raw.ts';

export type TreeFault = Readonly<{ path: JsonPath; message: string }>;
type TreeReport = Readonly<{ keys: number; fault: TreeFault | null }>;

/** Why a string is not acceptable; null when it is. */
export function textFault(text: string): string | null {
  if (text.includes('\0')) return 'A string here contains the character U+0000.';
  return text.isWellFormed() ? null : 'A string here contains half of a surrogate pair.';
}

/** `checksText` may be false only for a text without `\u`: bad characters can only come from such escapes. */
export function inspectTree(root: unknown, checksText: boolean): TreeReport {
  const inspection = new Inspection(checksText);
  const isSound = inspection.isSound(root);
  const { keys, outwardPath, problem } = inspection;
  return { keys, fault: isSound ? null : { path: outwardPath.toReversed(), message: problem } };
}

/** The path is built on the way out of a fault, so that a valid body pays nothing for it. */
class Inspection {
  keys = 0;
  problem = '';
  readonly outwardPath: (string | number)[] = [];
  private readonly checksText: boolean;

  constructor(checksText: boolean) {
    this.checksText = checksText;
  }

  isSound(value: unknown): boolean {
    if (typeof value === 'string') return !this.checksText || this.isSoundText(value);
    if (typeof value === 'number')
      return Number.isFinite(value) || this.fail('This number is too large to be represented.');
    if (typeof value !== 'object' || value === null || isRawJson(value)) return true;
    return Array.isArray(value)
      ? this.isSoundList(value)
      : this.isSoundObject(value as Readonly<Record<string, unknown>>);
  }

  private isSoundList(list: readonly unknown[]): boolean {
    for (let index = 0; index < list.length; index++) {
      if (this.isSound(list[index])) continue;
      this.outwardPath.push(index);
      return false;
    }
    return true;
  }

  /** Parsed objects have only own properties, and for…in is several times faster than a list of keys. */
  private isSoundObject(object: Readonly<Record<string, unknown>>): boolean {
    for (const key in object) {
      this.keys++;
      if ((!this.checksText || this.isSoundText(key)) && this.isSound(object[key])) continue;
      this.outwardPath.push(key);
      return false;
    }
    return true;
  }

  private isSoundText(text: string): boolean {
    const fault = textFault(text);
    return fault === null || this.fail(fault);
  }

  private fail(problem: string): false {
    this.problem = problem;
    return false;
  }
}
