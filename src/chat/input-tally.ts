/** Adds up the input tokens that a call can have, in one pass and without copying any of its text. */
import type { JsonObject } from '../providers/chat.ts';
import { LeastTokens } from './least-tokens.ts';
import {
  argumentWeights,
  heaviestUnit,
  plainWeights,
  quotedWeights,
  type Weights,
  weigh,
} from './text-weights.ts';

export type InputBound = Readonly<{
  /** The most that a provider can report for this call: money is held for it. Never above the context window. */
  tokens: number;
  /** What ordinary text does not exceed: the room to leave for the input inside a context window. */
  likelyTokens: number;
  /** The fewest tokens its messages have in any server's format, for a charge that has to be estimated. */
  leastTokens: number;
}>;

/** Measured on ordinary text: tokens per UTF-16 unit, and per byte that it takes beyond the first. */
const likelyTokensPerUnit = 0.65;
const likelyTokensPerFurtherByte = 1;

/** The quotes, colon, comma, space and line break around a JSON value and its name, or the tags used instead. */
const valueAllowance = 16;
/** Indentation: four spaces per level, and every tokenizer has a token for two levels' worth. */
const levelsPerToken = 2;
/** An ID may be sent as base64 of its UTF-16: eight characters for three units. */
const tokensPerUnitOfId = 3;
/**
 * About as many as the largest context windows have tokens. If the window is unknown, a call can have more; the rest is
 * counted at its worst, which takes no time.
 */
const maxUnitsWeighed = 1_000_000;

export class InputTally {
  readonly #limit: number;
  #tokens = 0;
  /** Tokens that are not text, images included. */
  #allowed = 0;
  #textBytes = 0;
  #textUnits = 0;
  #unitsToWeigh = maxUnitsWeighed;
  readonly #least = new LeastTokens();
  #unitsToRead = maxUnitsWeighed;

  /** Nothing is weighed beyond the limit: the bound is the limit then. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  allow(tokens: number): void {
    this.#tokens += tokens;
    this.#allowed += tokens;
  }

  /** For input of any size. It says nothing about how much there likely is. */
  allowAll(): void {
    this.#tokens = Math.max(this.#tokens, this.#limit);
  }

  /** Text that goes into the prompt as it is. No ASCII character has a longer form. */
  addText(text: string): void {
    const bytes = this.#measure(text);
    if (bytes === text.length) this.#tokens += bytes;
    else this.#weigh(text, plainWeights);
  }

  /** For text that no server leaves out of the prompt, in addition to adding it. Text beyond the limit does not count. */
  countLeast(text: string): void {
    const end = Math.min(text.length, this.#unitsToRead);
    this.#unitsToRead -= end;
    this.#least.add(text, end);
  }

  addQuoted(text: string): void {
    this.#measure(text);
    this.#weigh(text, quotedWeights);
  }

  /** For text that is sent a second time. */
  repeatQuoted(text: string): void {
    this.#weigh(text, quotedWeights);
  }

  addArguments(text: string): void {
    this.#measure(text);
    this.#weigh(text, argumentWeights);
  }

  addId(id: string): void {
    this.addQuoted(id);
    this.#tokens += id.length * tokensPerUnitOfId;
  }

  /** A JSON Schema from the client. The body's own limits bound its depth and number of values. */
  addJson(value: unknown, level = 0): void {
    this.#tokens += valueAllowance + Math.ceil(level / levelsPerToken);
    if (typeof value === 'string') {
      this.#addAscii(2);
      this.addQuoted(value);
    } else if (typeof value !== 'object' || value === null) {
      this.#addAscii(String(value).length + 1);
    } else if (Array.isArray(value)) {
      this.#addAscii(2);
      for (const inner of value) this.addJson(inner, level + 1);
    } else {
      this.#addAscii(2);
      for (const name in value) {
        this.#addAscii(4);
        this.addQuoted(name);
        this.addJson((value as JsonObject)[name], level + 1);
      }
    }
  }

  bound(): InputBound {
    const tokens = Math.min(this.#tokens, this.#limit);
    const likely =
      this.#allowed +
      this.#textUnits * likelyTokensPerUnit +
      (this.#textBytes - this.#textUnits) * likelyTokensPerFurtherByte;
    const leastTokens = Math.min(tokens, this.#least.tokens);
    return { tokens, likelyTokens: Math.min(tokens, Math.ceil(likely)), leastTokens };
  }

  #measure(text: string): number {
    const bytes = Buffer.byteLength(text);
    this.#textBytes += bytes;
    this.#textUnits += text.length;
    return bytes;
  }

  #addAscii(bytes: number): void {
    this.#textBytes += bytes;
    this.#textUnits += bytes;
    this.#tokens += bytes;
  }

  #weigh(text: string, weights: Weights): void {
    if (this.#tokens >= this.#limit) return;
    const end = Math.min(text.length, this.#unitsToWeigh);
    this.#unitsToWeigh -= end;
    this.#tokens += (text.length - end) * heaviestUnit;
    this.#tokens += weigh(text, weights, end, this.#limit - this.#tokens);
  }
}
