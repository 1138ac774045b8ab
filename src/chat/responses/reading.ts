/**
 * Reads the parts of one body. What is wrong with it is thrown; what only a provider of the same format understands is
 * kept, because another candidate has to refuse it by name.
 */
import type { z } from 'zod';
import { ApiError } from '../../errors.ts';
import { formatPath, type JsonPath } from '../../json/path.ts';
import { firstProblem, toApiError } from '../../json/problem.ts';
import type { JsonObject } from '../../providers/chat.ts';
import type { Unsupported } from '../../providers/upstream.ts';
import type { FurtherInput } from '../request.ts';
import type { Kind } from './schema.ts';

export class Reading {
  readonly #body: JsonObject;
  readonly #values: unknown[] = [];
  #unbounded: Unsupported | null = null;
  #untranslatable: Unsupported | null = null;

  constructor(body: JsonObject) {
    this.#body = body;
  }

  check<Value>({ schema, names }: Kind<Value>, value: JsonObject, path: JsonPath): Value {
    const result = schema.safeParse(value);
    if (!result.success) throw this.problem(result.error.issues, path);
    this.keepUnknown(value, names, path);
    return result.data;
  }

  problem(issues: readonly z.core.$ZodIssue[], path: JsonPath): ApiError {
    const located = issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
    return toApiError({ ...firstProblem(located, this.#body), docs: 'responses#requests' });
  }

  keepUnknown(value: JsonObject, names: ReadonlySet<string>, path: JsonPath): void {
    for (const name in value) if (!names.has(name)) this.keep(value[name], [...path, name]);
  }

  /** For what other formats do without, and a provider of the same format may put into its prompt. */
  count(value: unknown): void {
    if (value != null) this.#values.push(value);
  }

  /** Null is what SDKs send for what they leave out. */
  keep(value: unknown, path: JsonPath, message = `Providers of this model do not know ${formatPath(path)}.`) {
    if (value === null) return;
    this.count(value);
    this.#untranslatable ??= { param: formatPath(path), message };
  }

  /** The same for what can have any number of tokens. */
  keepUnbounded(value: unknown, path: JsonPath, message: string): void {
    this.keep(value, path, message);
    this.#unbounded ??= {
      param: formatPath(path),
      message: 'This cannot be sent to a model whose context window is not known: its cost has no bound.',
    };
  }

  /** The first thing that no other format can express. */
  get untranslatable(): Unsupported | null {
    return this.#untranslatable;
  }

  get furtherInput(): FurtherInput {
    return { values: this.#values, tokens: 0, unbounded: this.#unbounded };
  }
}

export function refused(path: JsonPath, message: string, docs = 'responses#not-supported'): ApiError {
  return new ApiError('unsupported_parameter', { param: formatPath(path), message, docs });
}

export function invalid(path: JsonPath, message: string): ApiError {
  return new ApiError('invalid_parameter', { param: formatPath(path), message, docs: 'responses#requests' });
}
