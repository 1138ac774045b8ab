/** What is found in a request of this format besides what our own terms can express. */
import { ApiError } from '../../errors.ts';
import { formatPath, type JsonPath } from '../../json/path.ts';
import type { Unsupported } from '../../providers/upstream.ts';
import type { FurtherInput } from '../request.ts';

/** Clients of this format know problems by this form, and some of them leave the field out and try again. */
export function lackOf(path: JsonPath, problem: string): Unsupported {
  return { param: formatPath(path), message: `${path.map(shownStep).join('.')}: ${problem}` };
}

/** More than any name or type has that clients send on purpose. */
const maxShown = 100;

function shownStep(step: string | number): string | number {
  return typeof step === 'string' ? shown(step) : step;
}

/** What a client chose can be as long as its body. */
export function shown(name: string): string {
  return name.length > maxShown ? `${name.slice(0, maxShown).toWellFormed()}…` : name;
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

export const unboundedBlock =
  'This model has no context window in the catalogue, so nothing bounds what this block costs: send its text.';

/** The words for something that is stored in the operator's own account with a provider. */
export const storedFile = 'Stored files are not supported here: send the content itself.';

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

  /** For what a provider of the same format reads. Null means absent. */
  count(value: unknown, tokens = 0): void {
    if (value == null) return;
    this.#values.push(value);
    this.#tokens += tokens;
  }

  /** The same for what may hold blocks, whose marks and images cost more than their bytes say. */
  countBlocks(value: unknown, path: JsonPath, tokens = 0): void {
    this.count(value, tokens);
    this.#inspect(value, path);
  }

  /** `path` is that of the whole value. The limits of a body bound how deep and large it is. */
  #inspect(value: unknown, path: JsonPath): void {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const inner of value) this.#inspect(inner, path);
      return;
    }
    const { cache_control: control, source } = value as Fields;
    if (isFields(control)) this.mark(control);
    if (isFields(source)) this.#inspectSource(source, path);
    for (const name in value) this.#inspect((value as Fields)[name], path);
  }

  #inspectSource({ type }: Fields, path: JsonPath): void {
    if (type === 'file') throw refused(lackOf([...path, 'source'], storedFile));
    if (type !== 'text' && type !== 'content') this.unbounded(path, unboundedBlock);
  }

  unbounded(path: JsonPath, problem: string): void {
    this.#unbounded ??= lackOf(path, problem);
  }

  mark(control: Readonly<{ ttl?: unknown }> | null | undefined): void {
    if (control == null) return;
    const { ttl = '5m' } = control;
    if (ttl === '5m') this.#cacheMarks ??= 'short';
    else this.#cacheMarks = 'long';
  }

  /** Fields that are not known here go to providers of the same format only. Null means absent. */
  unknownFields(object: Fields, known: ReadonlySet<string>, path: JsonPath): void {
    for (const name in object) {
      if (known.has(name) || object[name] == null) continue;
      this.lack([...path, name]);
      this.countBlocks(object[name], [...path, name]);
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

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
