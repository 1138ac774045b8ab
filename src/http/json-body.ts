/** The JSON body of a request, read within bounds and free of what two readers could understand differently. */
import { ApiError } from '../errors.ts';
import { readCounted } from '../lib/read-counted.ts';
import { countKeys, findDuplicateKey } from './json-keys.ts';
import { formatPath, type JsonPath } from './json-path.ts';
import { inspectTree, maxDepth } from './json-tree.ts';

export const maxBodyBytes = 20 * 1024 * 1024;

/** Millions of tiny values in one body would keep every other request waiting for seconds. */
const mostValues = 100_000;
/** A body of this size cannot hold enough of them to matter. */
const smallBodyBytes = 131_072;

/** Stateless between whole texts, so one serves every request. A byte order mark is dropped. */
const decoder = new TextDecoder('utf-8', { fatal: true });

/** Always an object. Throws only ApiErrors, all of status 400. */
export async function readJsonBody(request: Request, mostBytes = maxBodyBytes): Promise<unknown> {
  checkContentType(request.headers.get('content-type'));
  if (request.headers.get('content-encoding') !== null)
    throw new ApiError('invalid_request', { message: 'The body must not be compressed.' });
  return parseJsonBody(await readBytes(request, mostBytes));
}

export function parseJsonBody(bytes: Uint8Array<ArrayBuffer> | ArrayBuffer): unknown {
  if (bytes.byteLength > smallBodyBytes) refuseTooManyValues(new Uint8Array(bytes));
  const text = decode(bytes);
  const body = parse(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError('invalid_request', { message: 'The request body must be a JSON object.' });
  const { keys, fault } = inspectTree(body, text.includes('\\u'));
  if (fault !== null) throw refusal(fault.path, fault.message);
  if (keys !== countKeys(text)) throw duplicateRefusal(text);
  return body;
}

/** Counts what separates values, outside of strings, before anything is made of them. */
function refuseTooManyValues(bytes: Uint8Array): void {
  let separators = 0;
  for (let place = 0; place < bytes.length; place++) {
    const byte = bytes[place];
    if (byte === quote) place = endOfString(bytes, place);
    else if ((byte === comma || byte === colon) && ++separators > mostValues)
      throw new ApiError('invalid_parameter', { message: `The body holds more than ${mostValues} values.` });
  }
}

/** Hops from quote to quote, because a string may be an image of many megabytes. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let end = bytes.indexOf(quote, start + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let backslashes = 0;
    while (bytes[end - 1 - backslashes] === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return bytes.length;
}

const [quote = 0, backslash, comma, colon] = Buffer.from('"\\,:');

function decode(bytes: Uint8Array<ArrayBuffer> | ArrayBuffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new ApiError('invalid_json', { message: 'The request body is not valid UTF-8.' });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own words quote the body, so they are not passed on.
    throw new ApiError('invalid_json', text === '' ? { message: 'The request body is empty.' } : {});
  }
}

function refusal(path: JsonPath, message: string): ApiError {
  return new ApiError('invalid_parameter', { param: formatPath(path), message });
}

function duplicateRefusal(text: string): ApiError {
  const path = findDuplicateKey(text, maxDepth);
  return path === null
    ? new ApiError('invalid_parameter', { message: `The body is nested deeper than ${maxDepth} levels.` })
    : refusal(path, 'This key appears more than once in its object.');
}

/** Parameters other than the charset have no meaning for JSON and do no harm. */
function checkContentType(header: string | null): void {
  if (header === 'application/json') return;
  const [type, ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json')
    throw new ApiError('invalid_request', { message: 'The Content-Type must be application/json.' });
  const charsets = parameters.filter((parameter) => parameter.startsWith('charset='));
  if (!charsets.every((charset) => /^charset=("?)utf-?8\1$/.test(charset)))
    throw new ApiError('invalid_request', { message: 'The charset of the body must be UTF-8.' });
}

async function readBytes(
  request: Request,
  mostBytes: number,
): Promise<Uint8Array<ArrayBuffer> | ArrayBuffer> {
  const announced = request.headers.get('content-length');
  const tooLarge = () => tooLargeFor(mostBytes);
  if (announced !== null && Number(announced) > mostBytes) throw tooLarge();
  try {
    // The server holds a client to the length it announced; without one the bytes are counted as they come.
    if (announced === null && request.body !== null)
      return await readCounted(request.body, mostBytes, tooLarge);
    const bytes = await request.arrayBuffer();
    if (bytes.byteLength > mostBytes) throw tooLarge();
    return bytes;
  } catch (thrown) {
    if (thrown instanceof ApiError) throw thrown;
    throw new ApiError('invalid_request', {
      message: 'The request body could not be read to its end.',
      cause: thrown,
    });
  }
}

function tooLargeFor(mostBytes: number): ApiError {
  const size = mostBytes < 1024 * 1024 ? `${mostBytes / 1024} KB` : `${mostBytes / 1024 / 1024} MB`;
  return new ApiError('invalid_request', { message: `The request body is larger than ${size}.` });
}
