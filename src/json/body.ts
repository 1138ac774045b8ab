/** Reads the JSON body of a request within bounds, and rejects what two parsers could understand differently. */
import { setImmediate } from 'node:timers/promises';
import { ApiError } from '../errors.ts';
import { type BodyLimits, readBodyBytes } from '../http/body-bytes.ts';
import { BoundedQueue } from '../lib/bounded-queue.ts';
import { defaultPace } from '../lib/read-body.ts';
import { JsonLimitError, parseBoundedJson } from './bounded.ts';
import { keepsLargeNumbers } from './exact-numbers.ts';
import { findDuplicateKey } from './keys.ts';
import { formatPath, type JsonPath } from './path.ts';
import { type JsonExtent, ordinaryKeys } from './scan.ts';
import { parseInSteps } from './steps.ts';
import { inspectTree } from './tree.ts';

export const maxBodyBytes = 20 * 1024 * 1024;

/** Objects and lists inside each other, the body itself included. */
export const maxDepth = 64;
/**
 * Millions of tiny values in one body would block every other request for seconds, and a body that is denser than
 * schemas and the shortest messages costs several times as much as others of its size.
 */
const maxValues = 100_000;
const maxValuesOfSmall = 10_000;
const charactersPerValue = 6;
/** Beyond the first 64 of each object, in total. */
const maxKeys = 1_000;

function limitsOf({ length }: string): JsonExtent {
  const values = Math.min(maxValues, Math.max(maxValuesOfSmall, Math.floor(length / charactersPerValue)));
  return { depth: maxDepth, values, keys: maxKeys };
}

/** From this size on, a body is parsed in steps. Below it, that would cost more than the wait it saves others. */
const largeBodyBytes = 524_288;
const decodedAtOnceBytes = 1_048_576;

/** Stateless between complete texts, so one decoder serves every request. A byte order mark is dropped. */
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * One large body at a time, because the steps of several would add up; accounts take turns. The budget for body bytes
 * limits how many can wait, long before this queue is full.
 */
const queue = new BoundedQueue({ maxRunning: 1, maxWaiting: 10_000 });

/** `keepsNumbers` is whether numbers stay exact that would lose digits: where a body holds data that is passed on. */
type BodyReading = Partial<BodyLimits> & Readonly<{ keepsNumbers?: boolean }>;

/** Always an object. Throws only ApiErrors: of status 400, and 503 server_overloaded. */
export async function readJsonBody(
  request: Request,
  {
    maxBytes = maxBodyBytes,
    payer = null,
    pace = defaultPace,
    keepsNumbers = false,
    ...rest
  }: BodyReading = {},
): Promise<unknown> {
  checkContentType(request.headers.get('content-type'));
  if (request.headers.get('content-encoding') !== null)
    throw new ApiError('invalid_request', { message: 'The body must not be compressed.' });
  const bytes = await readBodyBytes(request, { ...rest, maxBytes, payer, pace });
  return bytes.byteLength < largeBodyBytes
    ? parseJsonBody(bytes, limitsOf, keepsNumbers)
    : await parseQueued(bytes, payer?.accountId ?? '', request.signal, keepsNumbers);
}

async function parseQueued(
  bytes: Uint8Array<ArrayBuffer> | ArrayBuffer,
  origin: string,
  signal: AbortSignal,
  keepsNumbers: boolean,
): Promise<unknown> {
  try {
    return await queue.run({ origin, signal }, () => parseLargeJsonBody(bytes, keepsNumbers));
  } catch (thrown) {
    if (thrown instanceof ApiError || !signal.aborted) throw thrown;
    throw new ApiError('invalid_request', { message: 'The client left.', cause: thrown });
  }
}

/** For a body that is not large. */
export function parseJsonBody(
  bytes: Uint8Array<ArrayBuffer> | ArrayBuffer,
  limitsFor: (text: string) => JsonExtent = limitsOf,
  keepsNumbers = false,
): unknown {
  const text = decode(bytes);
  const { value, keys: writtenKeys } = parse(text, limitsFor(text), keepsNumbers);
  const body = requireObject(value);
  const { keys, fault } = inspectTree(body, text.includes('\\u'));
  if (fault !== null) throw invalid(fault.path, fault.message);
  if (keys !== writtenKeys) throw duplicateKey(findDuplicateKey(text));
  return body;
}

/** The same in steps, letting other requests run after each. */
async function parseLargeJsonBody(
  bytes: Uint8Array<ArrayBuffer> | ArrayBuffer,
  keepsNumbers: boolean,
): Promise<unknown> {
  const text = await decodeInSteps(new Uint8Array(bytes));
  const limits = limitsOf(text);
  const parsing = parseInSteps(text, limits, setImmediate, undefined, keepsNumbers);
  const { value, fault, duplicate } = await parsing.catch((thrown) => rejectJson(thrown, limits));
  const body = requireObject(value);
  if (fault !== null) throw invalid(fault.path, fault.message);
  if (duplicate !== null) throw duplicateKey(duplicate);
  return body;
}

const limitMessages = ({ values, keys }: JsonExtent) => ({
  depth: `The body is nested deeper than ${maxDepth} levels.`,
  values: `The body holds more than ${values} values, the limit for its size.`,
  keys: `The body has more than ${keys} keys beyond the first ${ordinaryKeys} of each object.`,
  digits: 'This number has too many digits.',
});

/** The parser's own message quotes the body, so it is not passed on. */
function rejectJson(thrown: unknown, limits: JsonExtent): never {
  if (thrown instanceof SyntaxError) throw new ApiError('invalid_json');
  if (!(thrown instanceof JsonLimitError)) throw thrown;
  throw invalid(thrown.path, limitMessages(limits)[thrown.limit]);
}

function requireObject(value: unknown): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new ApiError('invalid_request', { message: 'The request body must be a JSON object.' });
}

function decode(bytes: Uint8Array<ArrayBuffer> | ArrayBuffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new ApiError('invalid_json', { message: notUtf8 });
  }
}

const notUtf8 = 'The request body is not valid UTF-8.';

async function decodeInSteps(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  // It remembers a character that is cut off at the end of a piece.
  const ownDecoder = new TextDecoder('utf-8', { fatal: true });
  const pieces: string[] = [];
  try {
    for (let at = 0; at < bytes.byteLength; at += decodedAtOnceBytes) {
      pieces.push(ownDecoder.decode(bytes.subarray(at, at + decodedAtOnceBytes), { stream: true }));
      await setImmediate();
    }
    pieces.push(ownDecoder.decode());
  } catch {
    throw new ApiError('invalid_json', { message: notUtf8 });
  }
  return pieces.join('');
}

function parse(text: string, limits: JsonExtent, keepsNumbers: boolean): ReturnType<typeof parseBoundedJson> {
  if (text === '') throw new ApiError('invalid_json', { message: 'The request body is empty.' });
  try {
    return parseBoundedJson(text, limits, keepsNumbers ? keepsLargeNumbers : undefined);
  } catch (thrown) {
    return rejectJson(thrown, limits);
  }
}

function invalid(path: JsonPath, message: string): ApiError {
  return new ApiError('invalid_parameter', {
    message,
    ...(path.length === 0 ? {} : { param: formatPath(path) }),
  });
}

function duplicateKey(path: JsonPath | null): ApiError {
  return invalid(path ?? [], `${path === null ? 'A' : 'This'} key appears more than once in its object.`);
}

/** Parameters other than the charset mean nothing for JSON and do no harm. */
function checkContentType(header: string | null): void {
  if (header === 'application/json') return;
  const [type, ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json')
    throw new ApiError('invalid_request', { message: 'The Content-Type must be application/json.' });
  const charsets = parameters.filter((parameter) => parameter.startsWith('charset='));
  if (!charsets.every((charset) => /^charset=("?)utf-?8\1$/.test(charset)))
    throw new ApiError('invalid_request', { message: 'The charset of the body must be UTF-8.' });
}
