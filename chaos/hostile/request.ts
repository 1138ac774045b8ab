/** One hostile request, as bytes, and its allowed outcomes. */
export type HostileRequest = Readonly<{
  /** What is hostile about it, for the report. */
  name: string;
  bytes: Buffer;
  /** `broken`: not valid HTTP, so the server may answer, close or wait, and the connection is not used again. */
  framing: 'sound' | 'broken';
  /** How many answers must come. */
  answers: number;
  isHeadOnly: boolean;
  leave: 'when sent' | 'when answered' | null;
  /** Whether errors are those of the public API. */
  isApi: boolean;
  /** What it asks the provider to do wrong: to fail, or to report usage that cannot be billed. */
  provokes: 'nothing' | 'failure' | 'unbillable';
}>;

export type Parts = Readonly<{
  method?: string;
  target?: string;
  headers?: readonly (readonly [string, string])[];
  body?: Buffer | string;
}>;

const noBody = Buffer.alloc(0);

/** Valid HTTP: the length is right and the lines end correctly. Header values are not checked. */
export function encode({ method = 'GET', target = '/', headers = [], body = noBody }: Parts): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const length = bytes.length > 0 || method === 'POST' ? `content-length: ${bytes.length}\r\n` : '';
  const head = Buffer.from(
    `${method} ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines}${length}\r\n`,
    'latin1',
  );
  return bytes.length === 0 ? head : Buffer.concat([head, bytes]);
}
