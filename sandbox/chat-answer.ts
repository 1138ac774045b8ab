/** What the sandbox answers to a chat request: a pure function of the request and its directives. */

import { type ChatRequest, countImages, type Tool, textOf } from './chat-request.ts';
import { sample } from './sample.ts';
import type { Reading } from './scenario.ts';

export type ToolCall = { readonly name: string; readonly argumentPieces: readonly string[] };

export type Answer = {
  /** One piece is one token and one streamed chunk. Empty when tools are called. */
  readonly pieces: readonly string[];
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: string;
  readonly tokens: number;
};

const echoedCharacters = 200;
const filler = 'The quick brown fox jumps over the lazy dog.'.match(/\s*\S+/g) ?? [];

export function answerChat(request: ChatRequest, reading: Reading): Answer {
  const { scenario } = reading;
  const toolCalls = chooseToolCalls(request, reading);
  if (toolCalls.length > 0) {
    const tokens = toolCalls.reduce((sum, call) => sum + 1 + call.argumentPieces.length, 0);
    return { pieces: [], toolCalls, finishReason: scenario.finish ?? 'tool_calls', tokens };
  }
  const allPieces = cutAtStop(reply(request, reading), request.stop);
  const pieces = allPieces.slice(0, request.max_tokens ?? allPieces.length);
  const finishReason = scenario.finish ?? (pieces.length < allPieces.length ? 'length' : 'stop');
  return { pieces, toolCalls: [], finishReason, tokens: pieces.length };
}

function chooseToolCalls(request: ChatRequest, { scenario }: Reading): ToolCall[] {
  const tools = request.tools ?? [];
  const lastRole = request.messages.at(-1)?.role;
  if (tools.length === 0 || request.tool_choice === 'none' || lastRole !== 'user') return [];
  const forced = typeof request.tool_choice === 'object' ? request.tool_choice?.function.name : undefined;
  const name = scenario.tool ?? forced;
  const first = name === undefined ? 0 : tools.findIndex((tool) => tool.function.name === name);
  // A name that was never declared is called all the same: models do that, and clients must cope.
  if (name !== undefined && first === -1) return [{ name, argumentPieces: ['{}'] }];
  const wanted = scenario.tools ?? (name === undefined ? 0 : 1);
  const count = request.parallel_tool_calls === false ? Math.min(wanted, 1) : wanted;
  return Array.from({ length: count }, (_, index) => callTool(tools[(first + index) % tools.length]));
}

function callTool(tool: Tool | undefined): ToolCall {
  const argumentText = JSON.stringify(sample(tool?.function.parameters) ?? {});
  return { name: tool?.function.name ?? '', argumentPieces: argumentText.match(/.{1,8}/gsu) ?? [] };
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
  if (messages.at(-1)?.role === 'tool') {
    const firstResult = messages.findLastIndex(({ role }) => role !== 'tool') + 1;
    return `The tools returned: ${shorten(messages.slice(firstResult).map(textOf).join('; '))}`;
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

function cutAtStop(pieces: readonly string[], stop: ChatRequest['stop']): readonly string[] {
  if (stop == null || stop.length === 0) return pieces;
  const text = pieces.join('');
  const positions = [stop].flat().map((word) => text.indexOf(word));
  const end = Math.min(...positions.filter((position) => position !== -1), text.length);
  return end === text.length ? pieces : split(text.slice(0, end));
}

/** Words with the space before them, as tokenizers do; long words come in parts. */
function split(text: string): readonly string[] {
  return text.match(/\s*\S{1,16}|\s+$/gu) ?? [];
}

function shorten(text: string): string {
  return text.length <= echoedCharacters ? text : `${text.slice(0, echoedCharacters).toWellFormed()}…`;
}
