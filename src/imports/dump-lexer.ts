/**
 * Reads a SQL text that arrives in pieces, token by token. What is not needed is skipped without being kept, so the size of a
 * dump does not matter. Every method that may need the next piece is a generator, which yields until it has been fed.
 */
import { OperatorError } from '../lib/operator-error.ts';

export type Token =
  | Readonly<{ kind: 'word' | 'name' | 'text' | 'number' | 'symbol'; text: string }>
  | Readonly<{ kind: 'end'; text: '' }>;

export type Reading<Result> = Generator<undefined, Result, undefined>;

/** A value or a line longer than this is none that an import needs. */
const maxLength = 8_000_000;
const maxWord = 1_000;
/** No mark that skipping looks for is longer. */
const longestMark = 64;
/** Ends or begins something within a statement that is skipped. */
const marks = /['"`;]|--|\/\*|\$(?:[A-Za-z_]\w{0,60})?\$/g;

const end = { kind: 'end', text: '' } as const;
const escapes: ReadonlyMap<string, string> = new Map([
  ['0', '\0'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ['Z', '\u001a'],
]);

export class DumpLexer {
  #text = '';
  #at = 0;
  #hasEnded = false;
  /** MySQL escapes with backslashes, the others do not. Null until the file has shown which one wrote it. */
  hasBackslashes: boolean | null = null;

  feed(text: string): void {
    this.#text = this.#text.slice(this.#at) + text;
    this.#at = 0;
  }

  finish(): void {
    this.#hasEnded = true;
  }

  /** False at the end of the file. */
  *#more(): Reading<boolean> {
    if (this.#hasEnded) return false;
    if (this.#text.length - this.#at > maxLength) throw tooLong();
    yield;
    return true;
  }

  *peek(length = 1): Reading<string> {
    while (this.#text.length - this.#at < length && (yield* this.#more()));
    return this.#text.slice(this.#at, this.#at + length);
  }

  advance(length: number): void {
    this.#at += length;
  }

  /** Null at the end of the file. A line of more than the limit is an error, unless it is skipped: then it is empty. */
  *line(isSkipped = false): Reading<string | null> {
    let isCut = false;
    for (;;) {
      const stop = this.#text.indexOf('\n', this.#at);
      if (stop >= 0) {
        const line = this.#text.slice(this.#at, stop);
        this.#at = stop + 1;
        return isCut ? '' : line.replace(/\r$/, '');
      }
      if (isSkipped && this.#text.length - this.#at > maxWord) {
        isCut = true;
        this.#at = this.#text.length;
      }
      if (yield* this.#more()) continue;
      const rest = this.#text.slice(this.#at);
      this.#at = this.#text.length;
      return rest === '' && !isCut ? null : rest;
    }
  }

  *skipSpace(): Reading<void> {
    for (;;) {
      while (this.#at < this.#text.length && /\s/.test(this.#text[this.#at] ?? '')) this.#at += 1;
      if (this.#at < this.#text.length || !(yield* this.#more())) return;
    }
  }

  *token(): Reading<Token> {
    yield* this.skipSpace();
    const first = yield* this.peek();
    if (first === '') return end;
    if (first === "'") return { kind: 'text', text: yield* this.quoted("'", this.hasBackslashes) };
    if (first === '"' || first === '`') return { kind: 'name', text: yield* this.quoted(first, false) };
    if (/[A-Za-z_]/.test(first)) return { kind: 'word', text: yield* this.#run(/[\w$]/) };
    if (/^(?:[-+\d]|\.\d)/.test(yield* this.peek(2)))
      return { kind: 'number', text: yield* this.#run(/[-+.\w]/) };
    this.#at += 1;
    return { kind: 'symbol', text: first };
  }

  *#run(allowed: RegExp): Reading<string> {
    let text = '';
    for (let next = yield* this.peek(); next !== '' && allowed.test(next); next = yield* this.peek()) {
      text += next;
      this.#at += 1;
      if (text.length > maxWord) throw tooLong();
    }
    return text;
  }

  /** The contents of quotes, from the opening one on. A doubled quote stands for itself. */
  *quoted(quote: string, hasBackslashes: boolean | null): Reading<string> {
    this.#at += 1;
    let text = '';
    for (;;) {
      const stop = this.#stopIn(quote);
      text += this.#text.slice(this.#at, stop);
      this.#at = stop;
      if (text.length > maxLength) throw tooLong();
      const mark = yield* this.peek(2);
      if (mark === '') throw new OperatorError('The file ends in the middle of a value.');
      if (mark === quote + quote) {
        text += quote;
        this.#at += 2;
      } else if (mark.startsWith(quote)) {
        this.#at += 1;
        return text;
      } else if (mark.startsWith('\\')) {
        const isEscape = this.#isEscape(quote, hasBackslashes);
        text += isEscape ? (escapes.get(mark[1] ?? '') ?? mark[1] ?? '') : '\\';
        this.#at += isEscape ? 2 : 1;
      }
    }
  }

  #stopIn(quote: string): number {
    const closing = this.#text.indexOf(quote, this.#at);
    const stop = closing < 0 ? this.#text.length : closing;
    // Within the value only: looking further would take long for each of many.
    const backslash = quote === "'" ? this.#text.slice(this.#at, stop).indexOf('\\') : -1;
    return backslash < 0 ? stop : this.#at + backslash;
  }

  #isEscape(quote: string, hasBackslashes: boolean | null): boolean {
    if (quote !== "'") return false;
    if (hasBackslashes !== null) return hasBackslashes;
    throw new OperatorError(
      'It is unclear which database wrote this dump, and a value has a backslash. Keep the first lines of the dump.',
    );
  }

  /** Up to and with the semicolon. Nothing of it is kept. */
  *skipStatement(): Reading<void> {
    for (;;) {
      marks.lastIndex = this.#at;
      const mark = marks.exec(this.#text);
      if (mark !== null) {
        this.#at = mark.index;
        if (yield* this.#skipMark(mark[0])) return;
        continue;
      }
      // A mark may have begun.
      this.#at = Math.max(this.#at, this.#text.length - longestMark);
      if (yield* this.#more()) continue;
      this.#at = this.#text.length;
      return;
    }
  }

  /** True after a semicolon. */
  *#skipMark(mark: string): Reading<boolean> {
    if (mark === ';') {
      this.#at += 1;
      return true;
    }
    if (mark === "'" || mark === '"' || mark === '`') yield* this.#skipQuoted(mark);
    else if (mark === '--') yield* this.line(true);
    else if (mark === '/*') yield* this.comment();
    else {
      this.#at += mark.length;
      yield* this.#skipTo(mark);
    }
    return false;
  }

  *#skipQuoted(quote: string): Reading<void> {
    this.#at += 1;
    for (;;) {
      this.#at = this.#stopIn(quote);
      const next = yield* this.peek();
      if (next === '') return;
      if (next === quote) {
        // A doubled quote opens the next part.
        this.#at += 1;
        return;
      }
      if (next !== '\\') continue;
      const isEscape = this.#isEscape(quote, this.hasBackslashes);
      if (isEscape) yield* this.peek(2);
      this.#at += isEscape ? 2 : 1;
    }
  }

  *#skipTo(mark: string): Reading<void> {
    for (;;) {
      const stop = this.#text.indexOf(mark, this.#at);
      if (stop >= 0) {
        this.#at = stop + mark.length;
        return;
      }
      this.#at = Math.max(this.#at, this.#text.length - mark.length);
      if (!(yield* this.#more())) {
        this.#at = this.#text.length;
        return;
      }
    }
  }

  /** Skips a comment in its marks; returns how it begins. */
  *comment(): Reading<string> {
    const start = yield* this.peek(40);
    this.#at += 2;
    yield* this.#skipTo('*/');
    return start;
  }
}

function tooLong(): OperatorError {
  return new OperatorError(
    `The file has a value of more than ${maxLength} characters, in a table that is imported.`,
  );
}
