/** What is found in a request of this format besides what our own terms can express. */
import { ApiError } from '../../errors.ts';
import { formatPath, type JsonPath } from '../../json/path.ts';
import type { Unsupported } from '../../providers/upstream.ts';
import type { FurtherInput } from '../request.ts';

/** Clients of this format know problems by this form, and some of them leave the field out and try again. */
export function lackOf(path: JsonPath, problem: string): Unsupported {
  return { param: formatPath(path), message: `${path.join('.')}: ${problem}` };
}

export function refused({ param, message }: Unsupported): ApiError {
  return new ApiError('unsupported_parameter', { param, message, docs: 'messages#what-is-refused' });
}

export function invalid(path: JsonPath, problem: string): ApiError {
  const docs = path[0] === 'messages' ? 'messages#messages' : 'messages#fields';
  return new ApiError('invalid_parameter', { ...lackOf(path, problem), docs });
}

/** The words for a field that is not known. Claude Code looks for them. */
export const extraInput = 'Extra inputs are not permitted';

type Fields = Readonly<Record<string, unknown>>;

export class Findings {
  readonly #values: unknown[] = [];
  #tokens = 0;
  #unbounded: Unsupported | null = null;
  #untranslatable: Unsupported | null = null;
  #cacheMarks: 'short' | 'long' | null = null;

  /** Only the first counts. */
  lack(path: JsonPath, problem: string = extraInput): void {
    this.#untranslatable ??= lackOf(path, problem);
  }

  /** For what a provider of the same format reads. */
  count(value: unknown, tokens = 0): void {
    this.#values.push(value);
    this.#tokens += tokens;
  }

  unbounded(path: JsonPath, problem: string): void {
    this.#unbounded ??= lackOf(path, problem);
  }

  mark(control: Readonly<{ ttl?: '5m' | '1h' | undefined }> | null | undefined): void {
    if (control == null) return;
    if (control.ttl === '1h') this.#cacheMarks = 'long';
    else this.#cacheMarks ??= 'short';
  }

  /** Fields that are not known here go to providers of the same format only. Null means absent. */
  unknownFields(object: Fields, known: ReadonlySet<string>, path: JsonPath): void {
    for (const name in object) {
      if (known.has(name) || object[name] == null) continue;
      this.lack([...path, name]);
      this.count(object[name]);
    }
  }

  get untranslatable(): Unsupported | null {
    return this.#untranslatable;
  }

  get cacheMarks(): 'short' | 'long' | null {
    return this.#cacheMarks;
  }

  get furtherInput(): FurtherInput {
    return { values: this.#values, tokens: this.#tokens, unbounded: this.#unbounded };
  }
}
