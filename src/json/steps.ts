/**
 * Parses a large JSON text in steps, so that other requests get their turn in between: JSON.parse would block them for
 * as long as it takes for 20 MB of escapes or 100,000 values. It accepts what JSON.parse accepts and returns the same,
 * and finds on the way what JSON.parse does not report: depth, number of values and keys, duplicate keys, bad
 * characters.
 */
import { JsonLimitError } from './bounded.ts';
import { exactNumber } from './exact-numbers.ts';
import type { JsonPath } from './path.ts';
import { isEscaped, type JsonExtent, ordinaryKeys } from './scan.ts';
import { type TreeFault, textFault } from './tree.ts';

export type SteppedJson = Readonly<{
  value: unknown;
  /** The first value that is not acceptable, and the first key that appears twice in its object. */
  fault: TreeFault | null;
  duplicate: JsonPath | null;
}>;

/** How much is parsed at a time, in characters. Even if all of them are escaped, a step takes only a few milliseconds. */
const stepSize = 262_144;
/** What a value costs in addition to its characters. */
const tokenCost = 24;
/** More characters than it takes to write any double exactly. */
const maxNumber = 1_024;

/**
 * Throws a SyntaxError for invalid JSON, or a JsonLimitError. `pause` is awaited between steps. `keepsNumbers` is whether
 * numbers stay exact that would lose digits.
 */
export async function parseInSteps(
  text: string,
  limits: JsonExtent,
  pause: () => Promise<unknown>,
  step = stepSize,
  keepsNumbers = false,
): Promise<SteppedJson> {
  const reader = new StepReader(text, limits, step, keepsNumbers);
  while (!reader.advance()) await pause();
  return reader.result();
}

/** A list or an object that is still open. `key` is the name that the next value of an object belongs to. */
type Frame = {
  readonly list: unknown[] | null;
  readonly object: Record<string, unknown>;
  key: string;
  keyCount: number;
};

/** What may come next. */
type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end' | 'nothing';

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/;

class StepReader {
  readonly #text: string;
  readonly #limits: JsonExtent;
  readonly #step: number;
  readonly #keepsNumbers: boolean;
  /** Bad characters can only come from `\u` escapes. */
  readonly #checksText: boolean;
  readonly #frames: Frame[] = [];
  #expected: Expected = 'value';
  #at = 0;
  #values = 0;
  /** Only those beyond the first `ordinaryKeys` of each object. */
  #keys = 0;
  #root: unknown;
  #fault: TreeFault | null = null;
  #duplicate: JsonPath | null = null;
  /** The decoded start of a string that continues at `#at`; null outside of strings. */
  #begun: string | null = null;
  /** Where the last search for a quote found one. */
  #quote = -1;

  constructor(text: string, limits: JsonExtent, step: number, keepsNumbers: boolean) {
    this.#keepsNumbers = keepsNumbers;
    this.#text = text;
    this.#limits = limits;
    this.#step = step;
    this.#checksText = text.includes('\\u');
  }

  result(): SteppedJson {
    return { value: this.#root, fault: this.#fault, duplicate: this.#duplicate };
  }

  /** Does one step; true when done. */
  advance(): boolean {
    const start = this.#at;
    for (let tokens = 0; this.#at - start + tokens * tokenCost < this.#step; tokens++) {
      if (this.#begun === null) this.#skipSpace(start + this.#step);
      if (this.#begun !== null) this.#readString();
      else if (this.#at < this.#text.length) this.#readToken(this.#text[this.#at] ?? '');
      else if (this.#expected === 'nothing') return true;
      else throw unexpected();
    }
    return false;
  }

  #skipSpace(end: number): void {
    for (; this.#at < end; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
    }
  }

  #readToken(character: string): void {
    // White space that did not fit into the step.
    if (character === ' ' || character === '\n' || character === '\r' || character === '\t') return;
    switch (this.#expected) {
      case 'value':
        this.#beginValue(character);
        break;
      case 'value or ]':
        if (character === ']') this.#close();
        else this.#beginValue(character);
        break;
      case 'key or }':
        if (character === '}') this.#close();
        else this.#beginKey(character);
        break;
      case 'key':
        this.#beginKey(character);
        break;
      case ':':
        if (character !== ':') throw unexpected();
        this.#moveOn('value');
        break;
      case ', or end':
        this.#readEnd(character);
        break;
      case 'nothing':
        throw unexpected();
    }
  }

  #beginValue(character: string): void {
    switch (character) {
      case '"':
        this.#beginString();
        break;
      case '{':
        this.#open({ list: null, object: {}, key: '', keyCount: 0 }, 'key or }');
        break;
      case '[':
        this.#open({ list: [], object: {}, key: '', keyCount: 0 }, 'value or ]');
        break;
      case 't':
        this.#readWord('true', true);
        break;
      case 'f':
        this.#readWord('false', false);
        break;
      case 'n':
        this.#readWord('null', null);
        break;
      default:
        this.#readNumber();
    }
  }

  #readWord(word: string, value: boolean | null): void {
    if (!this.#text.startsWith(word, this.#at)) throw unexpected();
    this.#at += word.length;
    this.#take(value);
  }

  #readNumber(): void {
    const [digits] = number.exec(this.#text.slice(this.#at, this.#at + maxNumber + 1)) ?? [];
    if (digits === undefined) throw unexpected();
    if (digits.length > maxNumber) throw new JsonLimitError('digits', this.#path());
    const value = Number(digits);
    if (!Number.isFinite(value) && !this.#keepsNumbers)
      this.#note('This number is too large to be represented.');
    this.#at += digits.length;
    this.#take(this.#keepsNumbers ? exactNumber(value, digits) : value);
  }

  #beginKey(character: string): void {
    if (character !== '"') throw unexpected();
    this.#beginString();
  }

  #beginString(): void {
    this.#at++;
    this.#begun = '';
    this.#readString();
  }

  /** Reads to the end of the string, or as much of it as one step allows. */
  #readString(): void {
    const from = this.#at;
    const limit = from + this.#step;
    let close = this.#quoteFrom(from);
    while (close <= limit && isEscaped(this.#text, close, from)) close = this.#quoteFrom(close + 1);
    const end = close <= limit ? close : this.#cutAt(limit, from);
    const isWhole = this.#begun === '' && end === close;
    const literal = isWhole ? this.#text.slice(from - 1, close + 1) : `"${this.#text.slice(from, end)}"`;
    const decoded = this.#begun + String(JSON.parse(literal));
    this.#begun = end === close ? null : decoded;
    this.#at = end === close ? end + 1 : end;
    if (end === close) this.#endString(decoded);
  }

  #quoteFrom(place: number): number {
    if (this.#quote < place) this.#quote = this.#text.indexOf('"', place);
    if (this.#quote < 0) throw unexpected();
    return this.#quote;
  }

  /** This position, or the nearest before it that is not inside an escape. An escape has up to six characters. */
  #cutAt(place: number, from: number): number {
    for (let last = place - 1; last > place - 6 && last > from; last--)
      if (this.#text[last] === '\\') return isEscaped(this.#text, last, from) ? place : last;
    return place;
  }

  #endString(decoded: string): void {
    const frame = this.#frames.at(-1);
    const isKey = frame !== undefined && frame.list === null && this.#expected !== 'value';
    if (isKey) {
      if (++frame.keyCount > ordinaryKeys && ++this.#keys > this.#limits.keys)
        throw new JsonLimitError('keys', this.#path().slice(0, -1));
      frame.key = decoded;
      this.#expected = ':';
      if (Object.hasOwn(frame.object, decoded)) this.#duplicate ??= this.#path();
    }
    const fault = this.#checksText ? textFault(decoded) : null;
    if (fault !== null) this.#note(fault);
    if (!isKey) this.#take(decoded);
  }

  #open(frame: Frame, expected: Expected): void {
    if (this.#frames.length === this.#limits.depth) throw new JsonLimitError('depth', this.#path());
    this.#moveOn(expected);
    this.#frames.push(frame);
  }

  #readEnd(character: string): void {
    const isList = this.#frames.at(-1)?.list != null;
    if (character === (isList ? ']' : '}')) this.#close();
    else if (character === ',') this.#moveOn(isList ? 'value' : 'key');
    else throw unexpected();
  }

  #close(): void {
    const frame = this.#frames.pop();
    this.#at++;
    this.#take(frame?.list ?? frame?.object);
  }

  /** Moves past a character that separates values or opens a list or object. */
  #moveOn(expected: Expected): void {
    if (++this.#values > this.#limits.values) throw new JsonLimitError('values');
    this.#at++;
    this.#expected = expected;
  }

  /** Puts a finished value where it belongs. */
  #take(value: unknown): void {
    const frame = this.#frames.at(-1);
    this.#expected = frame === undefined ? 'nothing' : ', or end';
    if (frame === undefined) this.#root = value;
    else if (frame.list !== null) frame.list.push(value);
    else if (frame.key === '__proto__') setProto(frame.object, value);
    else frame.object[frame.key] = value;
  }

  #note(message: string): void {
    this.#fault ??= { path: this.#path(), message };
  }

  #path(): JsonPath {
    return this.#frames.map(({ list, key }) => list?.length ?? key);
  }
}

/** As JSON.parse does: a property like any other. */
function setProto(object: object, value: unknown): void {
  Object.defineProperty(object, '__proto__', { value, writable: true, enumerable: true, configurable: true });
}

function unexpected(): SyntaxError {
  return new SyntaxError('This is not JSON.');
}
