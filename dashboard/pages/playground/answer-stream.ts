/** Reads a streamed response: its events carry text, parts of tool calls, the end, or an error. */
import { ApiProblem } from '../../api/client.ts';
import type { AssistantTurn, ToolCall } from './conversation.ts';

/** The complete events in a text, and the rest, which is the start of the next one. */
export function splitEvents(text: string): Readonly<{ events: readonly string[]; rest: string }> {
  const parts = text.replaceAll('\r\n', '\n').split('\n\n');
  const rest = parts.pop() ?? '';
  return { events: parts.map(dataOf).filter((data) => data !== ''), rest };
}

function dataOf(event: string): string {
  return event
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).replace(/^ /, ''))
    .join('\n');
}

const endOfStream = '[DONE]';

type CallPiece = Readonly<{
  index: number;
  id?: string;
  function?: Readonly<{ name?: string; arguments?: string }>;
}>;
type WireError = Readonly<{ message?: string; code?: string; param?: string }>;
type Chunk = Readonly<{
  choices?: readonly Readonly<{
    delta?: Readonly<{ content?: string | null; tool_calls?: readonly CallPiece[] }>;
    message?: Readonly<{
      content?: string | null;
      tool_calls?: readonly Readonly<{ id: string; function: { name: string; arguments: string } }>[];
    }>;
    finish_reason?: string | null;
  }>[];
  error?: WireError;
}>;

/** Adds an event to a response. Only the final event completes it, and only if there was no error. */
export function withEvent(turn: AssistantTurn, data: string): AssistantTurn {
  if (turn.ending !== null) return turn;
  if (data === endOfStream) return { ...turn, ending: { kind: 'finished', reason: turn.finishReason } };
  const chunk = JSON.parse(data) as Chunk;
  if (chunk.error !== undefined)
    return { ...turn, ending: { kind: 'failed', problem: problemInStream(chunk.error, turn.requestId) } };
  const choice = chunk.choices?.[0];
  if (choice === undefined) return turn;
  return {
    ...turn,
    text: turn.text + (choice.delta?.content ?? ''),
    toolCalls: (choice.delta?.tool_calls ?? []).reduce(withPiece, turn.toolCalls),
    finishReason: choice.finish_reason ?? turn.finishReason,
  };
}

/** The response of a model that does not stream. */
export function withBody(turn: AssistantTurn, body: unknown): AssistantTurn {
  const choice = (body as Chunk).choices?.[0];
  const finishReason = choice?.finish_reason ?? null;
  return {
    ...turn,
    text: choice?.message?.content ?? '',
    toolCalls: (choice?.message?.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called })),
    finishReason,
    ending: { kind: 'finished', reason: finishReason },
  };
}

/** A stream that ends without its final event was cut off, whatever finish reason the model gave. */
export function onConnectionEnd(turn: AssistantTurn): AssistantTurn {
  if (turn.ending !== null) return turn;
  const problem = new ApiProblem('The connection was lost before the end of the response.', {
    status: 0,
    code: 'stream_cut',
    requestId: turn.requestId,
  });
  return { ...turn, ending: { kind: 'failed', problem } };
}

function withPiece(calls: readonly ToolCall[], piece: CallPiece): readonly ToolCall[] {
  const known = calls[piece.index] ?? { id: '', name: '', arguments: '' };
  const grown = {
    id: piece.id ?? known.id,
    name: known.name + (piece.function?.name ?? ''),
    arguments: known.arguments + (piece.function?.arguments ?? ''),
  };
  return [...calls.slice(0, piece.index), grown, ...calls.slice(piece.index + 1)];
}

function problemInStream({ message, code, param }: WireError, requestId: string | null): ApiProblem {
  return new ApiProblem(message ?? 'The response was interrupted.', {
    status: 0,
    code: code ?? 'streaming_error',
    param: param ?? null,
    requestId,
  });
}
