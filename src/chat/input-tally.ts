/** Adds up what a call can make of input tokens, in one pass and without copying any of its text. */
import type { InputBound } from './bounds.ts';
import { argumentWeights, plainWeights, quotedWeights, type Weights, weigh } from './text-weights.ts';

/** Ordinary text, measured: tokens per UTF-16 unit, and for each byte more than one that a unit takes. */
const likelyTokensPerUnit = 0.5;
const likelyTokensPerFurtherByte = 0.75;

/** The quotes, colon, comma, space and line break around a value of JSON, or the tags in their place. */
const valueAllowance = 12;
/** Spaces before a value, four for each level: a token covers at least as many as two levels have. */
const levelsPerToken = 2;
/** Around an ID at most: in base64 of UTF-16 it has 8 characters for 3 units. */
const idWeight = 3;
/** What reading and writing a number again can add: `1e20` becomes `100000000000000000000.0`. */
const exponentAllowance = 20;
const exponent = /\d[eE][+\d]/g;

export class InputTally {
  readonly #limit: number;
  #tokens = 0;
  /** What is no text, images included. */
  #allowed = 0;
  #textBytes = 0;
  #textUnits = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  allow(tokens: number): void {
    this.#tokens += tokens;
    this.#allowed += tokens;
  }

  /** ASCII that stands in a prompt as it is needs no look at its characters. */
  addText(text: string): void {
    const bytes = this.#measure(text);
    if (bytes === text.length) this.#tokens += bytes;
    else this.#weigh(text, plainWeights);
  }

  addQuoted(text: string): void {
    this.#measure(text);
    this.#weigh(text, quotedWeights);
    this.#addExponents(text);
  }

  addArguments(text: string): void {
    this.#measure(text);
    this.#weigh(text, argumentWeights);
    this.#addExponents(text);
  }

  addId(id: string): void {
    this.#measure(id);
    this.#weigh(id, quotedWeights);
    this.#tokens += id.length * idWeight;
  }

  bound(): InputBound {
    const tokens = Math.min(this.#tokens, this.#limit);
    const likely =
      this.#allowed +
      this.#textUnits * likelyTokensPerUnit +
      (this.#textBytes - this.#textUnits) * likelyTokensPerFurtherByte;
    return { tokens, likelyTokens: Math.min(tokens, Math.ceil(likely)), textBytes: this.#textBytes };
  }

  addJson(value: unknown, level = 0): void {
    this.#tokens += valueAllowance + Math.ceil(level / levelsPerToken);
    if (typeof value === 'string') {
      this.addQuoted(value);
      this.#addAscii(2);
    } else if (Array.isArray(value)) {
      this.#addAscii(2);
      for (const inner of value) this.addJson(inner, level + 1);
    } else if (typeof value === 'object' && value !== null) {
      this.#addAscii(2);
      for (const name in value) {
        this.addQuoted(name);
        this.#addAscii(4);
        this.addJson((value as Record<string, unknown>)[name], level + 1);
      }
    } else this.#addAscii(String(value).length);
  }

  #addAscii(bytes: number): void {
    this.#tokens += bytes;
    this.#textBytes += bytes;
    this.#textUnits += bytes;
  }

  #measure(text: string): number {
    const bytes = Buffer.byteLength(text);
    this.#textBytes += bytes;
    this.#textUnits += text.length;
    return bytes;
  }

  #weigh(text: string, weights: Weights): void {
    if (this.#tokens < this.#limit) this.#tokens += weigh(text, weights, this.#limit - this.#tokens);
  }

  #addExponents(text: string): void {
    if (this.#tokens < this.#limit && exponent.test(text))
      this.#tokens += (text.match(exponent)?.length ?? 0) * exponentAllowance;
  }
}
