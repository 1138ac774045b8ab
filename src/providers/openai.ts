/**
 * The wire format of OpenAI's chat completions, which most other vendors speak as well, each in its own variant.
 * Documented at platform.openai.com/docs/api-reference/chat and chat-streaming. Reading is lenient wherever a vendor
 * is known to differ and the meaning is clear.
 */
import {
  type AnswerItem,
  type ChatAdapter,
  type ChatAnswer,
  type ChatEvent,
  type FinishReason,
  failed,
  type ReportedUsage,
  type Signature,
} from './chat.ts';
import { chatRequest, unsupported } from './openai-request.ts';
import { readToolCalls, ToolCallReader } from './openai-tool-calls.ts';
import { readOpenaiUsage } from './openai-usage.ts';
import { ProviderError, type Upstream } from './upstream.ts';
import { arrayAt, type Fields, isObject, objectAt, parseObject } from './wire.ts';

export const openai: ChatAdapter = {
  format: 'chat_completions',
  passOn: null,
  unsupported,
  chatRequest,
  readAnswer,
  readUsage: (body) => readOpenaiUsage(objectAt(body, 'usage')),
  openReader,
  hasUniformText: true,
};

function readAnswer(body: unknown, upstream: Upstream): ChatAnswer {
  const { requestId } = upstream;
  // Some servers report a failure with a success status.
  if (isObject(body) && hasError(body)) throw new ProviderError('provider_unknown_error');
  const choice = firstChoice(body);
  const message = objectAt(choice, 'message');
  if (choice === null || message === null) throw new ProviderError('provider_unknown_error');
  const toolCalls = readToolCalls(arrayAt(message, 'tool_calls'), requestId);
  const content = message.content ?? null;
  if (content !== null && typeof content !== 'string' && !Array.isArray(content))
    throw new ProviderError('provider_unknown_error');
  const reason = readFinishReason(choice.finish_reason, toolCalls.length > 0);
  if (reason === null) throw new ProviderError('provider_unknown_error');
  if (reason === 'failure') throw new ProviderError('provider_unavailable');
  const text = Array.isArray(content) ? textIn(content) : content;
  const thought = upstream.showsReasoning === true ? reasoningIn(message) : '';
  const items: AnswerItem[] = [...toolCalls];
  if (text !== null) items.unshift({ type: 'text', text });
  if (thought !== '') items.unshift({ type: 'reasoning', text: thought, signature: signatureOf(upstream) });
  return {
    items,
    finishReason: reason,
    usage: readOpenaiUsage(objectAt(body, 'usage')),
  };
}

/** For servers that want reasoning back. Nothing is signed: it says only whose reasoning it is. */
function signatureOf({ dialect, maker = '' }: Upstream): Signature | null {
  return dialect.reasoning === 'none' ? null : { value: dialect.reasoning, madeBy: maker };
}

function openReader(upstream: Upstream): (data: string) => readonly ChatEvent[] {
  const choices = new ChoiceReader(upstream);
  return (data) => {
    if (data === '[DONE]') return [{ type: 'end' }];
    const chunk = parseObject(data);
    if (chunk === null) throw new ProviderError('malformed_stream_chunk');
    const events: ChatEvent[] = [];
    if (hasError(chunk)) events.push(failed(new ProviderError('provider_stream_error')));
    const choice = firstChoice(chunk);
    if (choice !== null) choices.read(choice, events);
    // Also for an answer that has failed: the tokens were used all the same.
    const usage = usageIn(chunk, choice);
    if (usage !== null) events.push({ type: 'usage', usage });
    return events;
  };
}

/** Reads the pieces of one answer. Reasoning has no end of its own: whatever else follows ends it. */
class ChoiceReader {
  readonly #toolCalls: ToolCallReader;
  readonly #showsReasoning: boolean;
  readonly #signature: Signature | null;
  #isReasoning = false;

  constructor(upstream: Upstream) {
    this.#toolCalls = new ToolCallReader(upstream.requestId);
    this.#showsReasoning = upstream.showsReasoning === true;
    this.#signature = signatureOf(upstream);
  }

  read(choice: Fields, events: ChatEvent[]): void {
    const { delta } = choice;
    const toolCalls = this.#toolCalls;
    if (isObject(delta)) {
      if (this.#showsReasoning) this.#readReasoning(delta, events);
      const { content } = delta;
      const text = Array.isArray(content) ? textIn(content) : content;
      if (typeof text === 'string' && text !== '') {
        this.#endReasoning(events);
        events.push({ type: 'text', text });
      }
      if (Array.isArray(delta.tool_calls)) {
        if (delta.tool_calls.length > 0) this.#endReasoning(events);
        toolCalls.readAll(delta.tool_calls, events);
      }
    }
    const reason = readFinishReason(choice.finish_reason, toolCalls.count > 0);
    if (reason !== null) this.#endReasoning(events);
    if (reason === 'failure') events.push(failed(new ProviderError('provider_stream_error')));
    else if (reason !== null) events.push({ type: 'finish', reason });
  }

  #readReasoning(delta: Fields, events: ChatEvent[]): void {
    const text = reasoningIn(delta);
    if (text === '') return;
    this.#isReasoning = true;
    events.push({ type: 'reasoning', text });
  }

  #endReasoning(events: ChatEvent[]): void {
    if (this.#isReasoning) events.push({ type: 'reasoning_end', signature: this.#signature });
    this.#isReasoning = false;
  }
}

/**
 * What the model thought: `reasoning_content` from DeepSeek, Qwen, Moonshot and others, `reasoning` from Groq and OpenRouter,
 * parts of the content from Mistral. Some send the same in two of them.
 */
function reasoningIn({ reasoning_content: thought, reasoning, content }: Fields): string {
  if (typeof thought === 'string' && thought !== '') return thought;
  if (typeof reasoning === 'string') return reasoning;
  if (!Array.isArray(content)) return '';
  return content
    .filter((part) => isObject(part) && part.type === 'thinking')
    .map((part) => textIn(arrayAt(part, 'thinking')))
    .join('');
}

/** Mistral's thinking models write a list of parts: the text is the answer, the thinking is not. */
function textIn(parts: readonly unknown[]): string {
  let text = '';
  for (const part of parts) {
    if (isObject(part) && part.type === 'text' && typeof part.text === 'string') text += part.text;
  }
  return text;
}

/** Usage is in the chunk; Moonshot has it in the choice, and Groq in a separate field. */
function usageIn(chunk: Fields, choice: Fields | null): ReportedUsage | null {
  if (isObject(chunk.usage)) return readOpenaiUsage(chunk.usage);
  if (isObject(choice?.usage)) return readOpenaiUsage(choice.usage);
  return isObject(chunk.x_groq) ? readOpenaiUsage(objectAt(chunk.x_groq, 'usage')) : null;
}

function readFinishReason(reason: unknown, hasToolCalls: boolean): FinishReason | 'failure' | null {
  switch (reason) {
    case 'stop':
      // vLLM, Ollama and others end like this after tool calls, and so does OpenAI when a tool was forced.
      return hasToolCalls ? 'tool_calls' : 'stop';
    case 'length':
    case 'tool_calls':
    case 'content_filter':
      return reason;
    case 'function_call':
      return 'tool_calls';
    case 'model_length':
      // Mistral, when it is the model's limit and not the client's.
      return 'length';
    case 'insufficient_system_resource':
    case 'error':
      // DeepSeek and Mistral: the answer was cut short.
      return 'failure';
    default:
      // An unknown reason still ends the answer.
      return typeof reason === 'string' ? (hasToolCalls ? 'tool_calls' : 'stop') : null;
  }
}

/** Groq has a separate field for the reason why it stopped a stream early. */
function hasError(body: Fields): boolean {
  if (body.error !== undefined && body.error !== null) return true;
  return isObject(body.x_groq) && typeof body.x_groq.error === 'string';
}

function firstChoice(body: unknown): Fields | null {
  // Only one choice is asked for; anything else is not part of the answer.
  for (const choice of arrayAt(body, 'choices')) {
    if (isObject(choice) && (choice.index ?? 0) === 0) return choice;
  }
  return null;
}
