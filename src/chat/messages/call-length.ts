/** Notices the end of a call's arguments, which are one JSON object that arrives in pieces. */
export class CallLength {
  isComplete = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  add(piece: string): void {
    for (let at = 0; at < piece.length && !this.isComplete; at += 1) this.#take(piece.charCodeAt(at));
  }

  #take(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isInString) {
      if (code === backslash) this.#isEscaped = true;
      else if (code === quote) this.#isInString = false;
    } else if (code === quote) this.#isInString = true;
    else if (code === openBrace || code === openBracket) this.#depth += 1;
    else if (code === closeBrace || code === closeBracket) {
      this.#depth -= 1;
      this.isComplete = this.#depth <= 0;
    }
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
