/** The items of `input` as messages: what the model wrote in a row is one message, and results name their call. */
import type { JsonPath } from '../../json/path.ts';
import type {
  AnswerItem,
  ChatMessage,
  ImagePart,
  JsonObject,
  Signature,
  TextPart,
} from '../../providers/chat.ts';
import { isObject } from '../wire-fields.ts';
import { invalid, type Reading, refused } from './reading.ts';
import { checkItemType, fateOfTool, refusedTool } from './refusals.ts';
import { itemKinds, partKinds } from './schema.ts';
import { flatName } from './tools.ts';

/** Reads sealed signatures, and remembers each for the request that may be passed on. */
export type OpenSignature = (sealed: string) => Signature | null;

export function readInput(
  reading: Reading,
  input: string | readonly JsonObject[],
  instructions: string | null,
  open: OpenSignature,
): readonly ChatMessage[] {
  const conversation = new Conversation();
  if (instructions !== null) conversation.add({ role: 'system', content: instructions });
  if (typeof input === 'string') conversation.add({ role: 'user', content: input });
  else for (const [index, item] of input.entries()) readItem(reading, item, index, conversation, open);
  const { messages } = conversation;
  if (messages.length === 0 && reading.untranslatable === null)
    throw invalid(['input'], 'There is nothing to answer in input: send at least one message.');
  return messages;
}

/** Gathers what the model wrote in a row. */
class Conversation {
  readonly messages: ChatMessage[] = [];
  /** Those of the message that is being gathered; null between such messages. */
  #items: AnswerItem[] | null = null;
  #callIds = new Set<string>();
  readonly #allCallIds = new Set<string>();

  add(message: ChatMessage): void {
    this.#items = null;
    this.messages.push(message);
  }

  addAnswer(item: AnswerItem): void {
    if (this.#items === null) {
      this.#items = [];
      this.#callIds = new Set();
      this.messages.push({ role: 'assistant', items: this.#items });
    }
    this.#items.push(item);
  }

  addCall(id: string, name: string, written: string, path: JsonPath): void {
    this.addAnswer({ type: 'tool_call', id, name, arguments: written });
    if (this.#callIds.has(id))
      throw invalid([...path, 'call_id'], 'Another call of the same turn has this call_id.');
    this.#callIds.add(id);
    this.#allCallIds.add(id);
  }

  hasCall(id: string): boolean {
    return this.#allCallIds.has(id);
  }
}

function readItem(
  reading: Reading,
  item: JsonObject,
  index: number,
  conversation: Conversation,
  open: OpenSignature,
): void {
  const path = ['input', index];
  const type = item.type ?? (item.role === undefined ? undefined : 'message');
  if (typeof type !== 'string') throw invalid([...path, 'type'], 'An item needs a type or a role.');
  checkItemType(type, index);
  switch (type) {
    case 'message':
      readMessage(reading, item, path, conversation);
      break;
    case 'function_call': {
      const call = reading.check(itemKinds.function_call, item, path);
      const name = flatName(call.name, call.namespace ?? null);
      conversation.addCall(call.call_id, name, call.arguments, path);
      break;
    }
    case 'custom_tool_call': {
      const call = reading.check(itemKinds.custom_tool_call, item, path);
      const name = flatName(call.name, call.namespace ?? null);
      conversation.addCall(call.call_id, name, JSON.stringify({ input: call.input }), path);
      break;
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      readOutput(reading, item, path, conversation);
      break;
    case 'reasoning':
      readReasoning(reading, item, path, conversation, open);
      break;
    case 'additional_tools':
      keepTools(reading, item, path);
      break;
    default:
      keepItem(reading, item, type, path);
  }
}

/** Calls of a search for tools are text. What others stand for, nobody knows. */
function keepItem(reading: Reading, item: JsonObject, type: string, path: JsonPath): void {
  const message = `Providers of this model do not know items of the type "${type.slice(0, 40)}".`;
  if (type.startsWith('tool_search_')) reading.keep(item, path, message);
  else reading.keepUnbounded(item, path, message);
}

function readMessage(reading: Reading, item: JsonObject, path: JsonPath, conversation: Conversation): void {
  const { role, content } = reading.check(itemKinds.message, item, path);
  const place = [...path, 'content'];
  if (role === 'user') {
    if (content.length === 0 && typeof content !== 'string')
      throw invalid(place, 'A message needs at least one part.');
    const parts = typeof content === 'string' ? content : readParts(reading, content, place);
    // Nothing is left of it where no part can be translated.
    if (typeof parts === 'string' || parts.length > 0) conversation.add({ role, content: parts });
    return;
  }
  const texts = typeof content === 'string' ? [content] : textsIn(reading, content, place);
  if (role === 'assistant') for (const text of texts) conversation.addAnswer({ type: 'text', text });
  else conversation.add({ role: 'system', content: texts.join('\n') });
}

function textsIn(reading: Reading, parts: readonly JsonObject[], path: JsonPath): readonly string[] {
  return readParts(reading, parts, path).map((part) => {
    if (part.type === 'text') return part.text;
    throw invalid(path, 'Only messages of the user hold images.');
  });
}

function readParts(
  reading: Reading,
  parts: readonly JsonObject[],
  path: JsonPath,
): readonly (TextPart | ImagePart)[] {
  return parts.flatMap((part, index) => readPart(reading, part, [...path, index]) ?? []);
}

/** Null for a part that can only be passed on. */
function readPart(reading: Reading, part: JsonObject, path: JsonPath): TextPart | ImagePart | null {
  const { type } = part;
  switch (type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: readText(reading, part, path) };
    case 'refusal':
      return { type: 'text', text: reading.check(partKinds.refusal, part, path).refusal };
    case 'input_image': {
      if (part.file_id != null) throw namesFile([...path, 'file_id']);
      const { image_url: url, detail } = reading.check(partKinds.image, part, path);
      return { type: 'image', url, detail: detail === 'original' ? 'high' : (detail ?? null) };
    }
    case 'input_file':
      if (part.file_id != null) throw namesFile([...path, 'file_id']);
      reading.keepUnbounded(part, path, 'Providers of this model do not take files: send their text.');
      return null;
    default:
      if (typeof type !== 'string') throw invalid([...path, 'type'], 'A part needs a type.');
      reading.keepUnbounded(
        part,
        path,
        `Providers of this model do not know parts of the type "${type.slice(0, 40)}".`,
      );
      return null;
  }
}

function readText(reading: Reading, part: JsonObject, path: JsonPath): string {
  const { text, annotations } = reading.check(partKinds.text, part, path);
  reading.count(annotations);
  return text;
}

/** It would name a file in the operator's own account there. */
function namesFile(path: JsonPath): Error {
  return refused(path, 'Files are not stored here: send the data itself.');
}

function readOutput(reading: Reading, item: JsonObject, path: JsonPath, conversation: Conversation): void {
  const { call_id: toolCallId, output } = reading.check(itemKinds.output, item, path);
  if (!conversation.hasCall(toolCallId))
    throw invalid([...path, 'call_id'], 'No earlier item is a call with this call_id.');
  const content = typeof output === 'string' ? output : readParts(reading, output, [...path, 'output']);
  conversation.add({ role: 'tool', toolCallId, content, name: null, isError: false });
}

/** Reasoning of another model or account means nothing to this one, and is left out. */
function readReasoning(
  reading: Reading,
  item: JsonObject,
  path: JsonPath,
  conversation: Conversation,
  open: OpenSignature,
): void {
  const { summary, encrypted_content: sealed, content } = reading.check(itemKinds.reasoning, item, path);
  const signature = sealed == null ? null : open(sealed);
  if (signature === null) return;
  reading.count(content);
  const text = (summary ?? []).map((part) => part.text).join('\n\n');
  conversation.addAnswer({ type: 'reasoning', text, signature });
}

/** Tools as an item: no other format has them in the middle of a conversation. */
function keepTools(reading: Reading, item: JsonObject, path: JsonPath): void {
  const { tools } = item;
  if (!Array.isArray(tools))
    throw invalid([...path, 'tools'], 'The item additional_tools needs an array of tools.');
  for (const [index, tool] of tools.entries()) {
    const place = [...path, 'tools', index];
    if (!isObject(tool)) throw invalid(place, 'A tool is an object.');
    const fate = fateOfTool(tool);
    if (fate === 'refused' || fate === 'dropped') throw refusedTool(tool, place);
    for (const [inner, nested] of (Array.isArray(tool.tools) ? tool.tools : []).entries()) {
      const type = isObject(nested) ? nested.type : null;
      if (type !== 'function' && type !== 'custom')
        throw refusedTool(isObject(nested) ? nested : {}, [...place, 'tools', inner]);
    }
  }
  reading.keep(item, path, 'Providers of this model take tools in the parameter tools only.');
}
