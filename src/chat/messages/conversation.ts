/** The messages of a request as our own, and what is found in them besides. */
import type { JsonPath } from '../../json/path.ts';
import { isBillingLine } from '../../providers/anthropic-pass-on.ts';
import type { AnswerItem, ChatMessage, ImagePart, Signature, TextPart } from '../../providers/chat.ts';
import { fromWireId } from '../../providers/messages-tool-ids.ts';
import { extraInput, type Findings, invalid, lackOf, refused, shown, unboundedBlock } from './findings.ts';
import { refusedBlock, type Version } from './refusals.ts';
import type {
  WireAssistantMessage,
  WireBlock,
  WireCountRequest,
  WireImageBlock,
  WireRedacted,
  WireSystemMessage,
  WireTextBlock,
  WireThinking,
  WireToolResult,
  WireToolUse,
  WireUserMessage,
} from './schema.ts';

type Fields = Readonly<Record<string, unknown>>;

const messageFields = new Set(['role', 'content']);
/** Of these, what a provider of another format does not get makes no difference to the answer. */
const knownFields: Readonly<Record<string, ReadonlySet<string>>> = {
  text: new Set(['type', 'text', 'cache_control', 'citations']),
  image: new Set(['type', 'source', 'cache_control']),
  tool_use: new Set(['type', 'id', 'name', 'input', 'cache_control', 'caller']),
  tool_result: new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control']),
  thinking: new Set(['type', 'thinking', 'signature', 'cache_control']),
  redacted_thinking: new Set(['type', 'data', 'cache_control']),
};
const noFields: ReadonlySet<string> = new Set();

/** Reads one conversation. Throws a 400 for what no provider of this format would accept. */
export class ConversationReader {
  readonly messages: ChatMessage[] = [];
  readonly #findings: Findings;
  readonly #version: Version;
  readonly #open: (sealed: string) => Signature | null;
  /** The calls of the last answer that have no result yet. */
  readonly #unanswered = new Set<string>();
  readonly #called = new Set<string>();

  constructor(findings: Findings, version: Version, open: (sealed: string) => Signature | null) {
    this.#findings = findings;
    this.#version = version;
    this.#open = open;
  }

  readSystem(system: WireCountRequest['system']): void {
    if (system == null || system === '') return;
    if (typeof system === 'string') this.messages.push({ role: 'system', content: system });
    // What is left out of a request that is passed on is left out here too, and nothing else.
    else
      for (const [index, block] of system.entries())
        if (!isBillingLine(block)) this.#readInstruction(block, ['system', index]);
  }

  readMessages(messages: WireCountRequest['messages']): void {
    for (const [index, message] of messages.entries()) {
      const path = ['messages', index];
      this.#findings.unknownFields(message, messageFields, path);
      if (message.role === 'user') this.#readUser(message as WireUserMessage, path);
      else if (message.role === 'assistant') this.#readAssistant(message as WireAssistantMessage, path);
      else this.#readSystemMessage(message as WireSystemMessage, path);
    }
    this.#requireResults(['messages', messages.length - 1]);
    if (messages.at(-1)?.role === 'assistant')
      this.#findings.lack(
        ['messages'],
        'This model does not support assistant message prefill. The conversation must end with a user message.',
      );
  }

  #readInstruction(block: WireTextBlock, path: JsonPath): void {
    this.#noteBlock(block, path);
    this.#findings.count(block.citations);
    this.messages.push({ role: 'system', content: block.text });
  }

  #readSystemMessage({ content }: WireSystemMessage, path: JsonPath): void {
    if (typeof content === 'string') this.messages.push({ role: 'system', content });
    else
      for (const [index, block] of content.entries())
        this.#readInstruction(block, [...path, 'content', index]);
  }

  /** Results come before whatever else the user says, as every other format has them. */
  #readUser({ content }: WireUserMessage, path: JsonPath): void {
    if (typeof content === 'string') {
      this.#requireResults(path);
      this.messages.push({ role: 'user', content });
      return;
    }
    const parts: (TextPart | ImagePart)[] = [];
    for (const [index, block] of content.entries()) {
      const place = [...path, 'content', index];
      if (block.type === 'tool_result') this.#readResult(block as WireToolResult, place);
      else {
        const part = this.#readPart(block, place);
        if (part !== null) parts.push(part);
      }
    }
    this.#requireResults(path);
    if (parts.length > 0) this.messages.push({ role: 'user', content: parts });
  }

  #readResult(block: WireToolResult, path: JsonPath): void {
    this.#noteBlock(block, path);
    const { tool_use_id: wireId, content, is_error: isError } = block;
    if (!this.#unanswered.delete(wireId))
      throw invalid(
        [...path, 'tool_use_id'],
        'unexpected `tool_use_id`: each `tool_result` must answer a `tool_use` of the assistant message before it, once.',
      );
    this.messages.push({
      role: 'tool',
      toolCallId: fromWireId(wireId),
      content: this.#resultOf(content, path),
      name: null,
      isError: isError === true,
    });
  }

  #resultOf(content: WireToolResult['content'], path: JsonPath): string | (TextPart | ImagePart)[] {
    if (content == null || typeof content === 'string') return content ?? '';
    const parts: (TextPart | ImagePart)[] = [];
    for (const [index, block] of content.entries()) {
      const part = this.#readPart(block, [...path, 'content', index]);
      if (part !== null) parts.push(part);
    }
    const isText = parts.every(({ type }) => type === 'text');
    return isText ? parts.map((part) => (part as TextPart).text).join('\n') : parts;
  }

  /** Null for what only a provider of the same format can read. */
  #readPart(block: WireBlock, path: JsonPath): TextPart | ImagePart | null {
    this.#noteBlock(block, path);
    if (block.type === 'text') {
      const { text, citations } = block as WireTextBlock;
      if (Array.isArray(citations) && citations.length > 0) this.#readCitations(citations, path);
      return { type: 'text', text };
    }
    if (block.type === 'image') return this.#readImage(block as WireImageBlock, path);
    this.#readForeign(block, path);
    return null;
  }

  #readCitations(citations: readonly unknown[], path: JsonPath): void {
    if (this.#version !== '2023-06-01') throw refused(lackOf([...path, 'citations'], notInVersion));
    this.#findings.count(citations);
  }

  #readImage({ source }: WireImageBlock, path: JsonPath): ImagePart | null {
    const { type, media_type, data, url } = source as Fields;
    if (type === 'base64')
      return { type: 'image', url: `data:${media_type as string};base64,${data as string}`, detail: null };
    if (type === 'url') return { type: 'image', url: url as string, detail: null };
    const place = [...path, 'source', 'type'];
    this.#findings.lack(place, 'This model takes images of the types base64 and url.');
    this.#findings.unbounded(place, 'This model takes images of the types base64 and url.');
    return null;
  }

  /** Documents, search results, and blocks of types that are not known here. */
  #readForeign(block: WireBlock, path: JsonPath): void {
    this.#findings.lack(
      [...path, 'type'],
      `This model does not take content blocks of the type ${shown(block.type)}.`,
    );
    this.#findings.countBlocks(block, path);
    const { source, citations } = block as Fields;
    const sourceType = (source as Fields | undefined)?.type;
    // To be cited, a plain text is cut into sentences, and each gets a number in the prompt.
    const isCut = sourceType === 'text' && (citations as Fields | null | undefined)?.enabled === true;
    const isText = block.type === 'search_result' || (block.type === 'document' && !isCut);
    if (!isText) this.#findings.unbounded(path, unboundedBlock);
  }

  #readAssistant({ content }: WireAssistantMessage, path: JsonPath): void {
    this.#requireResults(path);
    if (typeof content === 'string') {
      this.messages.push({ role: 'assistant', items: [{ type: 'text', text: content }] });
      return;
    }
    const items: AnswerItem[] = [];
    for (const [index, block] of content.entries()) {
      const item = this.#readItem(block, [...path, 'content', index]);
      if (item !== null) items.push(item);
    }
    if (items.length > 0) this.messages.push({ role: 'assistant', items });
  }

  #readItem(block: WireBlock, path: JsonPath): AnswerItem | null {
    this.#noteBlock(block, path);
    switch (block.type) {
      case 'text': {
        const { text, citations } = block as WireTextBlock;
        this.#findings.count(citations);
        return { type: 'text', text };
      }
      case 'tool_use':
        return this.#readCall(block as WireToolUse, path);
      case 'thinking': {
        const { thinking, signature } = block as WireThinking;
        return this.#readReasoning(thinking, signature);
      }
      case 'redacted_thinking':
        return this.#readReasoning('', (block as WireRedacted).data);
      case 'document':
        if (this.#version !== '2023-06-01') throw refused(lackOf(path, notInVersion));
        this.#readForeign(block, path);
        return null;
      case 'tool_result':
      case 'image':
        throw invalid([...path, 'type'], `Blocks of the type ${block.type} belong in a user message.`);
      default:
        this.#readForeign(block, path);
        return null;
    }
  }

  #readCall({ id, name, input }: WireToolUse, path: JsonPath): AnswerItem {
    if (this.#called.has(id)) throw invalid([...path, 'id'], '`tool_use` ids must be unique');
    this.#called.add(id);
    this.#unanswered.add(id);
    return { type: 'tool_call', id: fromWireId(id), name, arguments: JSON.stringify(input) };
  }

  /** Null where nobody can prove that a model thought this. */
  #readReasoning(text: string, sealed: string): AnswerItem | null {
    const signature = this.#open(sealed);
    return signature === null ? null : { type: 'reasoning', text, signature };
  }

  #noteBlock(block: WireBlock, path: JsonPath): void {
    const problem = refusedBlock(block, path);
    if (problem !== null) throw refused(problem);
    this.#findings.mark(block.cache_control);
    const known = knownFields[block.type] ?? noFields;
    if (known.size > 0) this.#findings.unknownFields(block, known, path);
  }

  #requireResults(path: JsonPath): void {
    const [missing] = this.#unanswered;
    if (missing !== undefined)
      throw invalid(
        path,
        '`tool_use` ids were found without `tool_result` blocks immediately after: ' +
          `${missing.slice(0, 100)}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
  }
}

const notInVersion = `${extraInput} in this anthropic-version: send 2023-06-01 to use them.`;
