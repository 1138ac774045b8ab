/** One walk over a parsed body: what JSON.parse accepts and no request needs, and how many keys there are. */
import type { JsonPath } from './json-path.ts';

/** Objects and lists inside each other, the body itself included. */
export const maxDepth = 64;

/** Of one object. Putting many long names in order takes a while, and others have to wait for it. */
export const maxKeys = 10_000;
export const tooManyKeys = `This object has more than ${maxKeys} keys.`;

export type TreeFault = Readonly<{ path: JsonPath; message: string }>;
type TreeReport = Readonly<{ keys: number; fault: TreeFault | null }>;

/** What a string may not hold, in words; null for all others. */
export function textFault(text: string): string | null {
  if (text.includes('\0')) return 'A string here contains the character U+0000.';
  return text.isWellFormed() ? null : 'A string here contains half of a surrogate pair.';
}

/** `checksText` may be false only for a text without `\u`: bad characters can come from such escapes alone. */
export function inspectTree(root: unknown, checksText: boolean): TreeReport {
  const inspection = new Inspection(checksText);
  if (inspection.isSound(root, 1)) return { keys: inspection.keys, fault: null };
  return {
    keys: inspection.keys,
    fault: { path: inspection.outwardPath.toReversed(), message: inspection.problem },
  };
}

/** The path is put together on the way out of a fault, so that a sound body pays nothing for it. */
class Inspection {
  keys = 0;
  problem = '';
  readonly outwardPath: (string | number)[] = [];
  private readonly checksText: boolean;

  constructor(checksText: boolean) {
    this.checksText = checksText;
  }

  isSound(value: unknown, depth: number): boolean {
    if (typeof value === 'string') return !this.checksText || this.isSoundText(value);
    if (typeof value === 'number')
      return Number.isFinite(value) || this.fail('This number is too large to be represented.');
    if (typeof value !== 'object' || value === null) return true;
    if (depth > maxDepth) return this.fail(`The body is nested deeper than ${maxDepth} levels.`);
    return Array.isArray(value)
      ? this.isSoundList(value, depth)
      : this.isSoundObject(value as Readonly<Record<string, unknown>>, depth);
  }

  private isSoundList(list: readonly unknown[], depth: number): boolean {
    for (let index = 0; index < list.length; index++) {
      if (this.isSound(list[index], depth + 1)) continue;
      this.outwardPath.push(index);
      return false;
    }
    return true;
  }

  /** What JSON.parse makes has only own properties, and for…in is several times faster than a list of keys. */
  private isSoundObject(object: Readonly<Record<string, unknown>>, depth: number): boolean {
    let ownKeys = 0;
    for (const key in object) {
      this.keys++;
      if (++ownKeys > maxKeys) return this.fail(tooManyKeys);
      if ((!this.checksText || this.isSoundText(key)) && this.isSound(object[key], depth + 1)) continue;
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
