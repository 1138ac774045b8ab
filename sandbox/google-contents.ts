/** Parses a conversation in Google's format. */

import type { ContentPart, Message, RequestedCall } from './chat-request.ts';
import { BadRequest } from './errors.ts';
import { type Fields, isObject, readArray, readObject, readString, rejectUnknown } from './fields.ts';
import { signsCalls } from './google-wire.ts';

type Turn = Readonly<{ role: 'user' | 'model'; parts: readonly Fields[]; path: string }>;

const contentFields = new Set(['role', 'parts']);
const dataFields = new Set([
  'codeExecutionResult',
  'executableCode',
  'fileData',
  'functionCall',
  'functionResponse',
  'inlineData',
  'text',
]);
const partFields = new Set([
  ...dataFields,
  'mediaResolution',
  'partMetadata',
  'thought',
  'thoughtSignature',
  'videoMetadata',
]);
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif']);

/** Each part becomes a separate message, like several system messages in OpenAI's format. */
export function readSystemInstruction(value: unknown): readonly Message[] {
  if (value === undefined) return [];
  const path = 'systemInstruction';
  const content = readObject(value, path);
  rejectUnknown(content, contentFields, path);
  return readParts(content.parts, path).map(({ text }) => ({
    role: 'system',
    content: readString(text, path),
  }));
}

export function readContents(value: unknown, model: string): readonly Message[] {
  const turns = readArray(value, 'contents').map(readTurn);
  if (turns.length === 0) throw new BadRequest('There must be at least one turn.', 'contents');
  for (const [index, turn] of turns.entries()) checkCalls(turns[index - 1], turn, turns[index + 1]);
  if (signsCalls(model)) checkSignatures(turns);
  return turns.flatMap((turn) => (turn.role === 'user' ? readUser(turn) : [readModel(turn)]));
}

function readTurn(value: unknown, index: number): Turn {
  const path = `contents[${index}]`;
  const content = readObject(value, path);
  rejectUnknown(content, contentFields, path);
  const { role = 'user' } = content;
  if (role !== 'user' && role !== 'model') {
    throw new BadRequest('The role must be "user" or "model".', `${path}.role`);
  }
  return { role, parts: readParts(content.parts, path), path };
}

function readParts(value: unknown, path: string): readonly Fields[] {
  const parts = readArray(value, `${path}.parts`);
  if (parts.length === 0) throw new BadRequest('There must be at least one part.', `${path}.parts`);
  return parts.map((part, index) => {
    const fields = readObject(part, `${path}.parts[${index}]`);
    rejectUnknown(fields, partFields, `${path}.parts[${index}]`);
    if (Object.keys(fields).filter((name) => dataFields.has(name)).length !== 1) {
      throw new BadRequest('A part must have exactly one kind of data.', `${path}.parts[${index}]`);
    }
    return fields;
  });
}

/** Calls follow a user turn, and the next turn must answer each of them by name, and by ID if it has one. */
function checkCalls(before: Turn | undefined, turn: Turn, after: Turn | undefined): void {
  const calls = dataOf(turn, 'functionCall');
  if (calls.length > 0 && (turn.role !== 'model' || before?.role !== 'user')) {
    throw new BadRequest('Calls must come from the model, after a user turn.', turn.path);
  }
  const results = after ? dataOf(after, 'functionResponse') : [];
  const unanswered = [...calls];
  for (const result of results) {
    const place = unanswered.findIndex(
      ({ id, name }) => name === result.name && (id ?? result.id) === result.id,
    );
    if (place === -1)
      throw new BadRequest('A functionResponse has no matching functionCall.', after?.path ?? '');
    unanswered.splice(place, 1);
  }
  if (unanswered.length > 0) throw new BadRequest('Each functionCall needs a functionResponse.', turn.path);
  const hasResponses = dataOf(turn, 'functionResponse').length > 0;
  if (hasResponses && (turn.role !== 'user' || before === undefined)) {
    throw new BadRequest('Responses must come from the user, after the calls.', turn.path);
  }
}

/** In the current turn, the first call of each step must carry the signature that it came with. */
function checkSignatures(turns: readonly Turn[]): void {
  const start = turns.findLastIndex(({ role, parts }) => role === 'user' && !parts.some(isResponse));
  for (const { parts, path } of turns.slice(start + 1)) {
    const first = parts.find((part) => part.functionCall !== undefined);
    if (first && !first.thoughtSignature) throw new BadRequest('The call has no thoughtSignature.', path);
  }
}

function isResponse(part: Fields): boolean {
  return part.functionResponse !== undefined;
}

function dataOf({ parts, path }: Turn, name: string): readonly Fields[] {
  return parts
    .filter((part) => part[name] !== undefined)
    .map((part) => readObject(part[name], `${path}.${name}`));
}

/** Results become separate messages. */
function readUser({ parts, path }: Turn): readonly Message[] {
  const results = parts.filter(isResponse).map((part) => readResult(part.functionResponse, path));
  const others = parts.filter((part) => !isResponse(part)).map((part) => readPart(part, path));
  return others.length === 0 ? results : [...results, { role: 'user', content: others }];
}

function readResult(value: unknown, path: string): Message {
  const { id, response } = readObject(value, path);
  const fields = readObject(response, `${path}.functionResponse.response`);
  // One of these fields holds the result; without them all fields are the result.
  const result = fields.output ?? fields.result ?? fields.error ?? fields;
  const content = typeof result === 'string' ? result : JSON.stringify(result);
  return { role: 'tool', tool_call_id: typeof id === 'string' ? id : undefined, content };
}

function readPart({ text, inlineData, fileData }: Fields, path: string): ContentPart {
  if (text !== undefined) return { type: 'text', text: readString(text, `${path}.text`) };
  if (inlineData !== undefined) {
    const { mimeType, data } = readObject(inlineData, `${path}.inlineData`);
    readString(data, `${path}.inlineData.data`);
    if (!imageTypes.has(readString(mimeType, `${path}.inlineData.mimeType`))) {
      throw new BadRequest('Images must be PNG, JPEG, WebP, HEIC or HEIF.', `${path}.inlineData.mimeType`);
    }
    return { type: 'image_url' };
  }
  if (!isObject(fileData)) throw new BadRequest('Expected text, data or a file.', path);
  readString(fileData.fileUri, `${path}.fileData.fileUri`);
  return { type: 'image_url' };
}

/** Earlier thoughts are accepted and not counted. */
function readModel({ parts, path }: Turn): Message {
  const said = parts.filter(({ text, thought }) => text !== undefined && thought !== true);
  const texts = said.map(({ text }) => readString(text, `${path}.text`));
  const calls = parts
    .filter((part) => part.functionCall !== undefined)
    .map((part) => readCall(part.functionCall, `${path}.functionCall`));
  const content = texts.length === 0 ? null : texts.join('\n');
  return { role: 'assistant', content, tool_calls: calls.length === 0 ? undefined : calls };
}

function readCall(value: unknown, path: string): RequestedCall {
  const { id, name, args = {} } = readObject(value, path);
  const called = {
    name: readString(name, `${path}.name`),
    arguments: JSON.stringify(readObject(args, `${path}.args`)),
  };
  return { id: typeof id === 'string' ? id : undefined, type: 'function', function: called };
}
