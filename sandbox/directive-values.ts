/** The values that directives take. A parser turns text into a value, or into undefined if the text is invalid. */

/** `expected` completes "needs …"; null for a directive that takes no value. */
type Parser<Value> = ((text: string) => Value | undefined) & Readonly<{ expected: string | null }>;

function parser<Value>(expected: string | null, parse: (text: string) => Value | undefined): Parser<Value> {
  return Object.assign((text: string) => parse(text), { expected });
}

export const flag = parser(null, (value) => (value === '' ? true : undefined));

export const text = parser('a text', (value) => (value === '' ? undefined : value));

export const whole = parser('a whole number such as 3', (value) =>
  /^\d{1,7}$/.test(value) ? Number(value) : undefined,
);

export const decimal = parser('an amount such as 0.0012', (value) =>
  /^\d{1,9}(\.\d{1,12})?$/.test(value) ? Number(value) : undefined,
);

export const positive = parser('a whole number from 1', (value) => whole(value) || undefined);

/** A position in a stream: after a number of content chunks, after the finish reason, or after the usage. */
export type Position = number | 'finish' | 'usage';

export const position = parser<Position>('a number of chunks, finish or usage', (value) =>
  value === 'finish' || value === 'usage' ? value : whole(value),
);

const unreadable = oneOf('json', 'utf-8', 'list');

/** What makes the event unreadable: invalid JSON, invalid bytes, or a list instead of an object. */
export const malformed = parser(
  'a number of chunks, finish or usage, and may end with json, utf-8 or list',
  (value) => {
    const [where = '', what = 'json', ...more] = value.split(/\s+/);
    const at = position(where);
    const fault = unreadable(what);
    return at === undefined || fault === undefined || more.length > 0 ? undefined : { position: at, fault };
  },
);

export const status = parser('an HTTP status such as 503', (value) =>
  /^[2-5]\d\d$/.test(value) ? Number(value) : undefined,
);

export const twoWhole = parser(
  'two whole numbers such as 10 20',
  (value): readonly [number, number] | undefined => {
    const [, first, second] = /^(\d{1,15})\s+(\d{1,15})$/.exec(value) ?? [];
    return first && second ? [Number(first), Number(second)] : undefined;
  },
);

/** Tokens, and whether they are written to be kept for longer than usual. */
export const cacheWrite = parser('a number of tokens, and may end with 1h', (value) => {
  const [, tokens, long] = /^(\d{1,7})(?:\s+(1h))?$/.exec(value) ?? [];
  return tokens ? { tokens: Number(tokens), isLong: long !== undefined } : undefined;
});

/** A tool's name, and its arguments: an object as JSON, or free text for a tool that takes that. */
export const call = parser('the name of a tool, and may end with its arguments', (value) => {
  const [, name, given] = /^(\S+)(?:\s+(.+))?$/s.exec(value) ?? [];
  if (name === undefined || (given?.startsWith('{') && !isJson(given))) return undefined;
  return { name, given: given ?? null };
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The full text is the key of the count, so a label after the status gives a test its own count. */
export const flaky = parser('a number of requests and an HTTP status, such as 2 503', (value) => {
  const [, times, code] = /^(\d{1,7})\s+([2-5]\d\d)(?:\s+\S+)?$/.exec(value) ?? [];
  return times && code ? { times: Number(times), status: Number(code), key: value } : undefined;
});

export function oneOf<const Choice extends string>(...choices: Choice[]): Parser<Choice> {
  return parser(`one of ${choices.join(', ')}`, (value) => choices.find((choice) => choice === value));
}
