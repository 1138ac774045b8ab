/** Reads the answers on one connection, whole or until the connection ends, and keeps the beginning of each body. */
export type Answer = Readonly<{
  status: number;
  /** The first line and the headers, in lower case. */
  head: string;
  /** The beginning of the body. */
  text: string;
  isKeptAlive: boolean;
}>;

const headEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');
const maxKeptBytes = 65_536;
/** The longest head that is accepted. */
const maxHeadBytes = 65_536;
const nothing = Buffer.alloc(0);

type Framing = 'head' | 'sized' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'until-close';

export class AnswerReader {
  readonly #onAnswer: (answer: Answer) => void;
  /** Whether the request was a HEAD, whose answer announces a body that is never sent. */
  isHeadOnly = false;
  #rest: Buffer = nothing;
  #framing: Framing = 'head';
  #leftBytes = 0;
  #head = '';
  #kept: Buffer[] = [];
  #keptBytes = 0;

  constructor(onAnswer: (answer: Answer) => void) {
    this.#onAnswer = onAnswer;
  }

  /** For a new connection. */
  reset(): void {
    this.#rest = nothing;
    this.#framing = 'head';
    this.#kept = [];
    this.#keptBytes = 0;
  }

  /** Throws on bytes that are not HTTP. */
  push(piece: Buffer): void {
    this.#rest = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    while (this.#rest.length > 0 && this.#step());
  }

  /** An answer without a length is complete when the connection ends. */
  end(): void {
    if (this.#framing === 'until-close') this.#finish();
  }

  /** False when more must come first. */
  #step(): boolean {
    switch (this.#framing) {
      case 'head':
        return this.#readHead();
      case 'sized':
      case 'chunk':
      case 'until-close':
        return this.#readBody();
      case 'chunk-size': {
        const line = this.#takeLine();
        if (line === null) return false;
        this.#leftBytes = Number.parseInt(line, 16);
        if (!(this.#leftBytes >= 0)) throw new Error(`a chunk of ${JSON.stringify(line)}`);
        this.#framing = this.#leftBytes === 0 ? 'trailer' : 'chunk';
        return true;
      }
      case 'chunk-end':
        if (this.#takeLine() === null) return false;
        this.#framing = 'chunk-size';
        return true;
      case 'trailer': {
        const line = this.#takeLine();
        if (line === null) return false;
        if (line === '') this.#finish();
        return true;
      }
    }
  }

  #readHead(): boolean {
    const end = this.#rest.indexOf(headEnd);
    if (end < 0) {
      if (this.#rest.length > maxHeadBytes) throw new Error('an answer without headers');
      return false;
    }
    this.#head = this.#rest.toString('latin1', 0, end).toLowerCase();
    if (!/^http\/1\.1 \d{3}/.test(this.#head))
      throw new Error(`an answer that begins with ${JSON.stringify(this.#head.slice(0, 40))}`);
    this.#rest = this.#rest.subarray(end + headEnd.length);
    const status = Number(this.#head.slice(9, 12));
    if (status < 200) return true;
    const length = /\r\ncontent-length: (\d+)/.exec(this.#head)?.[1];
    if (this.isHeadOnly || status === 204 || status === 304) this.#finish();
    else if (this.#head.includes('\r\ntransfer-encoding: chunked')) this.#framing = 'chunk-size';
    else if (length === undefined) this.#framing = 'until-close';
    else {
      this.#framing = 'sized';
      this.#leftBytes = Number(length);
      if (this.#leftBytes === 0) this.#finish();
    }
    return true;
  }

  #readBody(): boolean {
    const count =
      this.#framing === 'until-close' ? this.#rest.length : Math.min(this.#leftBytes, this.#rest.length);
    if (this.#keptBytes < maxKeptBytes) this.#kept.push(this.#rest.subarray(0, count));
    this.#keptBytes += count;
    this.#rest = this.#rest.subarray(count);
    if (this.#framing === 'until-close') return false;
    this.#leftBytes -= count;
    if (this.#leftBytes > 0) return false;
    if (this.#framing === 'sized') this.#finish();
    else this.#framing = 'chunk-end';
    return true;
  }

  #takeLine(): string | null {
    const end = this.#rest.indexOf(lineEnd);
    if (end < 0) return null;
    const line = this.#rest.toString('latin1', 0, end);
    this.#rest = this.#rest.subarray(end + lineEnd.length);
    return line;
  }

  #finish(): void {
    const head = this.#head;
    const answer = {
      status: Number(head.slice(9, 12)),
      head,
      text: Buffer.concat(this.#kept).toString('utf8'),
      isKeptAlive: this.#framing !== 'until-close' && !head.includes('\r\nconnection: close'),
    };
    this.#framing = 'head';
    this.#kept = [];
    this.#keptBytes = 0;
    this.#onAnswer(answer);
  }
}
