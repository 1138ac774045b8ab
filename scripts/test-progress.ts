/** How a run reports its progress. */

/** Without a terminal a run reports its progress about ten times. */
const maxLines = 10;

export function progressLine(total: number, left: number): string {
  return `${left} of ${total} files left`;
}

/** Whether a log gets another line, if the last one said that `lastSaid` files were left. With few files, each gets one. */
export function isWorthALine(total: number, lastSaid: number, left: number): boolean {
  return left > 0 && lastSaid - left >= total / maxLines;
}

const eraseLine = '\r\x1b[K';

/**
 * Prints the output of a run together with how many files are left: on a terminal in a last line that is rewritten,
 * otherwise between two lines of the output.
 */
export class ProgressPrinter {
  private readonly total: number;
  private readonly isTerminal: boolean;
  private readonly print: (text: string) => void;
  private left: number;
  private lastSaid: number;
  private isAtLineStart = true;

  constructor(total: number, isTerminal: boolean, print: (text: string) => void) {
    this.total = total;
    this.isTerminal = isTerminal;
    this.print = print;
    this.left = total;
    this.lastSaid = total;
  }

  write(text: string): void {
    if (text === '') return;
    this.erase();
    this.print(text);
    this.isAtLineStart = text.endsWith('\n');
    this.say();
  }

  setLeft(left: number): void {
    if (left === this.left) return;
    this.erase();
    this.left = left;
    this.say();
  }

  /** Clears it from a terminal. */
  end(): void {
    this.erase();
    this.left = 0;
  }

  private erase(): void {
    if (this.isTerminal && this.isAtLineStart) this.print(eraseLine);
  }

  private say(): void {
    if (!this.isAtLineStart || this.left === 0) return;
    const line = progressLine(this.total, this.left);
    if (this.isTerminal) {
      this.print(line);
      return;
    }
    if (!isWorthALine(this.total, this.lastSaid, this.left)) return;
    this.lastSaid = this.left;
    this.print(`— ${line}\n`);
  }
}
