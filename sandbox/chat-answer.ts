/** What the sandbox answers to a chat request: a pure function of the request and its directives. */

import { type ChatRequest, countImages, lastRole, type Tool, textOf, turnsOfTools } from './chat-request.ts';
import { BadRequest, privateThought } from './errors.ts';
import { sample } from './sample.ts';
import type { Reading, Scenario } from './scenario.ts';

export type ToolCall = Readonly<{ name: string; argumentPieces: readonly string[] }> &
  Pick<Tool, 'isCustom' | 'namespace'>;

export type Answer = Readonly<{
  /** Reasoning before the answer, for formats that show it. */
  thoughtPieces: readonly string[];
  /** One piece is one token and one streamed chunk. Empty when tools are called. */
  pieces: readonly string[];
  toolCalls: readonly ToolCall[];
  /** OpenAI's name for it, or the directive's. */
  finishReason: string;
  /** The stop sequence that ended the text. */
  stopSequence: string | null;
  tokens: number;
}>;

const echoedCharacters = 200;
const thoughtPieces = ['Let me think: ', `${privateThought}.`];
const nothing: readonly string[] = [];
const filler = 'The quick brown fox jumps over the lazy dog.'.match(/\s*\S+/g) ?? [];

export function answerChat(request: ChatRequest, reading: Reading): Answer {
  const { finish, reasoning } = reading.scenario;
  const thought = reasoning ? thoughtPieces : nothing;
  const toolCalls = chooseToolCalls(request, reading);
  if (toolCalls.length > 0) {
    const tokens = toolCalls.reduce((sum, call) => sum + 1 + call.argumentPieces.length, 0);
    const finishReason = finish ?? 'tool_calls';
    return { thoughtPieces: thought, pieces: nothing, toolCalls, finishReason, stopSequence: null, tokens };
  }
  const { pieces: allPieces, stopSequence } = cutAtStop(reply(request, reading), request.stop);
  const maxTokens = request.max_completion_tokens ?? request.max_tokens ?? allPieces.length;
  const pieces = allPieces.slice(0, maxTokens);
  const isCut = pieces.length < allPieces.length;
  return {
    thoughtPieces: thought,
    pieces,
    toolCalls: [],
    finishReason: finish ?? (isCut ? 'length' : 'stop'),
    stopSequence: isCut ? null : stopSequence,
    tokens: pieces.length,
  };
}

function chooseToolCalls(request: ChatRequest, { scenario }: Reading): ToolCall[] {
  const tools = request.tools ?? [];
  if (tools.length === 0 || request.tool_choice === 'none') return [];
  if (lastRole(request) !== 'user') return chooseNextCall(request, tools, scenario['next-tool']);
  const { name = forcedTool(request.tool_choice, tools), given = null } = scenario.tool ?? {};
  const first = name === undefined ? 0 : tools.findIndex((tool) => tool.function.name === name);
  if (name !== undefined && first === -1) return [callUndeclared(name, given)];
  const wanted = scenario.tools ?? (name === undefined ? 0 : 1);
  const count = request.parallel_tool_calls === false ? Math.min(wanted, 1) : wanted;
  return Array.from({ length: count }, (_, index) => callTool(tools[(first + index) % tools.length], given));
}

/** After the first results, and not after those of this call. */
function chooseNextCall(
  { messages }: ChatRequest,
  tools: readonly Tool[],
  next: Scenario['next-tool'],
): ToolCall[] {
  if (next === undefined || turnsOfTools(messages) !== 1) return [];
  const tool = tools.find(({ function: { name } }) => name === next.name);
  return [tool === undefined ? callUndeclared(next.name, next.given) : callTool(tool, next.given)];
}

function forcedTool(choice: ChatRequest['tool_choice'], tools: readonly Tool[]): string | undefined {
  if (choice === 'required') return tools[0]?.function.name;
  return typeof choice === 'object' ? choice?.function.name : undefined;
}

/** An undeclared tool is called too: models do that, and clients must cope. */
function callUndeclared(name: string, given: string | null): ToolCall {
  return { name, argumentPieces: inPieces(given ?? '{}') };
}

function callTool(tool: Tool | undefined, given: string | null): ToolCall {
  const { isCustom = false, namespace } = tool ?? {};
  if (given !== null && !isCustom && !given.startsWith('{'))
    throw new BadRequest('The arguments of a function must be a JSON object.', null);
  const made = () =>
    isCustom ? 'sample of free text' : JSON.stringify(sample(tool?.function.parameters) ?? {});
  return {
    name: tool?.function.name ?? '',
    argumentPieces: inPieces(given ?? made()),
    ...(isCustom && { isCustom }),
    ...(namespace !== undefined && { namespace }),
  };
}

function inPieces(written: string): readonly string[] {
  return written.match(/.{1,8}/gsu) ?? [];
}

function reply(request: ChatRequest, { scenario, plainText }: Reading): readonly string[] {
  if (scenario.say !== undefined) return split(scenario.say);
  if (scenario.repeat !== undefined) return new Array<string>(scenario.repeat).fill(' again');
  if (scenario.long !== undefined) {
    return Array.from({ length: scenario.long }, (_, index) => filler[index % filler.length] ?? '');
  }
  return split(formatted(request, replyText(request, plainText)));
}

function replyText({ messages }: ChatRequest, plainText: string): string {
  if (lastRole({ messages }) === 'tool') {
    const said = messages.filter(({ role }) => role !== 'system');
    const firstResult = said.findLastIndex(({ role }) => role !== 'tool') + 1;
    return `The tools returned: ${shorten(said.slice(firstResult).map(textOf).join('; '))}`;
  }
  const imageCount = countImages(messages);
  const seen = imageCount === 0 ? '' : ` I see ${imageCount} ${imageCount === 1 ? 'image' : 'images'}.`;
  return plainText === '' ? `You said nothing.${seen}` : `You said: ${shorten(plainText)}${seen}`;
}

function formatted({ response_format }: ChatRequest, text: string): string {
  if (response_format?.type === 'json_object') return JSON.stringify({ reply: text });
  if (response_format?.type === 'json_schema')
    return JSON.stringify(sample(response_format.json_schema?.schema));
  return text;
}

function cutAtStop(
  pieces: readonly string[],
  stop: ChatRequest['stop'],
): Pick<Answer, 'pieces' | 'stopSequence'> {
  if (stop == null || stop.length === 0) return { pieces, stopSequence: null };
  const text = pieces.join('');
  let end = text.length;
  let stopSequence: string | null = null;
  for (const word of typeof stop === 'string' ? [stop] : stop) {
    const position = text.indexOf(word);
    if (position === -1 || position >= end) continue;
    end = position;
    stopSequence = word;
  }
  return stopSequence === null
    ? { pieces, stopSequence }
    : { pieces: split(text.slice(0, end)), stopSequence };
}

/** Words with the space before them, as in a tokenizer; long words are split. */
function split(text: string): readonly string[] {
  return text.match(/\s*\S{1,16}|\s+$/gu) ?? [];
}

function shorten(text: string): string {
  return text.length <= echoedCharacters ? text : `${text.slice(0, echoedCharacters).toWellFormed()}…`;
}
