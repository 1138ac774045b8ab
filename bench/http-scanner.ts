/**
 * Finds where HTTP/1.1 messages begin and end in bytes that arrive in pieces of any size. It reads just enough for two
 * programs of this bench that know each other: the length, or that the body is chunked. It reads both requests and answers.
 */
export type MessageHandler = Readonly<{
  /** The first line and the headers, in lower case. */
  head: (text: string) => void;
  body: (bytes: Buffer, start: number, end: number) => void;
  end: () => void;
}>;

type Place = 'head' | 'sized' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'trailer';

const headEnd = Buffer.from('\r\n\r\n');
const lineFeed = 10;
const carriageReturn = 13;

export class HttpScanner {
  readonly #handler: MessageHandler;
  #place: Place = 'head';
  /** The beginning of a head whose end has not arrived yet. */
  #rest: Buffer | null = null;
  /** Bytes left of the body or of the chunk; while a chunk's size is read, that size so far. */
  #left = 0;
  #isTrailerLineEmpty = true;

  constructor(handler: MessageHandler) {
    this.#handler = handler;
  }

  /** Throws on a message whose length is unknown. */
  push(piece: Buffer): void {
    const bytes = this.#rest === null ? piece : Buffer.concat([this.#rest, piece]);
    this.#rest = null;
    let at = 0;
    while (at < bytes.length) at = this.#step(bytes, at);
  }

  #step(bytes: Buffer, at: number): number {
    switch (this.#place) {
      case 'head':
        return this.#readHead(bytes, at);
      case 'sized':
      case 'chunk-data':
        return this.#readBody(bytes, at);
      case 'chunk-size':
        return this.#readChunkSize(bytes, at);
      case 'chunk-end':
        if (bytes[at] === lineFeed) this.#place = 'chunk-size';
        return at + 1;
      case 'trailer':
        return this.#readTrailer(bytes, at);
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(headEnd, at);
    if (end < 0) {
      this.#rest = Buffer.from(bytes.subarray(at));
      return bytes.length;
    }
    const head = bytes.toString('latin1', at, end).toLowerCase();
    this.#handler.head(head);
    this.#left = 0;
    if (head.includes('\r\ntransfer-encoding: chunked')) {
      this.#place = 'chunk-size';
    } else {
      this.#left = contentLength(head);
      this.#place = 'sized';
      if (this.#left === 0) this.#finish();
    }
    return end + headEnd.length;
  }

  #readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#handler.body(bytes, at, end);
    this.#left -= end - at;
    if (this.#left === 0) {
      if (this.#place === 'sized') this.#finish();
      else this.#place = 'chunk-end';
    }
    return end;
  }

  #readChunkSize(bytes: Buffer, at: number): number {
    const byte = bytes[at] ?? 0;
    if (byte === lineFeed) {
      this.#place = this.#left === 0 ? 'trailer' : 'chunk-data';
      this.#isTrailerLineEmpty = true;
    } else if (byte !== carriageReturn) {
      this.#left = this.#left * 16 + hexDigit(byte);
    }
    return at + 1;
  }

  #readTrailer(bytes: Buffer, at: number): number {
    const byte = bytes[at];
    if (byte === lineFeed) {
      if (this.#isTrailerLineEmpty) this.#finish();
      this.#isTrailerLineEmpty = true;
    } else if (byte !== carriageReturn) {
      this.#isTrailerLineEmpty = false;
    }
    return at + 1;
  }

  #finish(): void {
    this.#place = 'head';
    this.#left = 0;
    this.#handler.end();
  }
}

function contentLength(head: string): number {
  const name = '\r\ncontent-length: ';
  const start = head.indexOf(name);
  if (start < 0) {
    if (head.startsWith('get ')) return 0;
    throw new Error(`A message without a length: ${head.split('\r\n')[0]}`);
  }
  return Number.parseInt(head.slice(start + name.length, start + name.length + 12), 10);
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  if (byte >= 97 && byte <= 102) return byte - 87;
  if (byte >= 65 && byte <= 70) return byte - 55;
  throw new Error('A chunk without a size.');
}
