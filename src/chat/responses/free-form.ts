/** The input of a free-form tool, which a model writes as the only parameter of a function. */
import { parseObject } from '../../providers/wire.ts';

/** `{"input":"`, with any space that JSON allows. */
const beginning = /^\s*\{\s*"input"\s*:\s*"/;
/** Longer than any beginning: what is still unclear then is not one. */
const maxBeginning = 200;

/** Decodes the input while it is being written. What is not as agreed is passed on as it was written, at its end. */
export class FreeFormInput {
  /** What has not been decoded yet. */
  #pending = '';
  #isInside = false;
  #isOver = false;
  /** All of what was decoded. */
  text = '';

  /** The next piece of the input. */
  add(written: string): string {
    if (this.#isOver) return '';
    this.#pending += written;
    if (!this.#isInside) {
      // Pieces are short, so nothing long is searched again and again.
      const found = this.#pending.length > maxBeginning * 2 ? null : beginning.exec(this.#pending);
      if (found === null) return '';
      this.#isInside = true;
      this.#pending = this.#pending.slice(found[0].length);
    }
    return this.#decode();
  }

  /** The rest of it, now that nothing follows. */
  end(): string {
    if (this.#isInside) return '';
    const rest = inputOf(this.#pending);
    this.text = rest;
    return rest;
  }

  #decode(): string {
    const end = endOfString(this.#pending);
    this.#isOver = end.isClosed;
    const whole = this.#pending.slice(0, end.at);
    this.#pending = this.#pending.slice(end.at);
    const decoded = decodedText(whole);
    this.text += decoded;
    return decoded;
  }
}

/** The input in complete arguments. */
export function inputOf(written: string): string {
  const input = parseObject(written)?.input;
  if (typeof input === 'string') return input;
  return new FreeFormInput().add(written) || written;
}

/** Up to where a string can be decoded: its closing quote, or an escape that is not complete yet. */
function endOfString(text: string): Readonly<{ at: number; isClosed: boolean }> {
  for (let at = 0; at < text.length; at += 1) {
    const unit = text[at];
    if (unit === '"') return { at, isClosed: true };
    if (unit !== '\\') continue;
    const length = text[at + 1] === 'u' ? 6 : 2;
    if (at + length > text.length) return { at, isClosed: false };
    // Both halves of a character outside the basic plane are needed.
    if (isHighHalf(text.slice(at, at + length)) && at + 12 > text.length) return { at, isClosed: false };
    at += length - 1;
  }
  return { at: text.length, isClosed: false };
}

function isHighHalf(escaped: string): boolean {
  return /^\\u[dD][89abAB]/.test(escaped);
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['b', '\b'],
  ['f', '\f'],
]);

/** Models also write line breaks as they are, and escapes that JSON does not know. */
function decodedText(written: string): string {
  if (!written.includes('\\')) return written;
  return written.replaceAll(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, digits: string | undefined, unit: string) =>
    digits === undefined ? (escapes.get(unit) ?? unit) : String.fromCharCode(Number.parseInt(digits, 16)),
  );
}
