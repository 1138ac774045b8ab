/** What was said in the playground, and what it becomes in a request. */
import type { ApiProblem } from '../../api/client.ts';
import type { ChatRequestBody } from '../../kit/code-samples.ts';
import type { ListedModel } from '../models/models.ts';
import type { ToolDefinition } from './settings.ts';

export type ToolCall = Readonly<{ id: string; name: string; arguments: string }>;
export type ImageInput = Readonly<{ name: string; url: string }>;

export type UserTurn = Readonly<{ kind: 'user'; text: string; images: readonly ImageInput[] }>;
export type ToolTurn = Readonly<{ kind: 'tool'; callId: string; name: string; result: string }>;

/** Null while it is still being written. */
export type Ending =
  | Readonly<{ kind: 'finished'; reason: string | null }>
  | Readonly<{ kind: 'stopped' }>
  | Readonly<{ kind: 'failed'; problem: ApiProblem }>;

export type AssistantTurn = Readonly<{
  kind: 'assistant';
  text: string;
  toolCalls: readonly ToolCall[];
  requestId: string | null;
  /** Why the model stopped, which it says before its answer is known to be whole. */
  finishReason: string | null;
  ending: Ending | null;
}>;

export type Turn = UserTurn | AssistantTurn | ToolTurn;

export const unwritten: AssistantTurn = {
  kind: 'assistant',
  text: '',
  toolCalls: [],
  requestId: null,
  finishReason: null,
  ending: null,
};

export type Message = Readonly<Record<string, unknown>>;

export function messagesOf(system: string, turns: readonly Turn[]): readonly Message[] {
  const spoken = turns
    .filter((_, at) => !isUnanswered(turns, at))
    .map(messageOf)
    .filter((message) => message !== null);
  return system.trim() === '' ? spoken : [{ role: 'system', content: system }, ...spoken];
}

/** A question whose answer never began. Models refuse two questions in a row, so it is left out of what is sent next. */
export function isUnanswered(turns: readonly Turn[], at: number): boolean {
  const answer = turns[at + 1];
  if (turns[at]?.kind !== 'user' || answer?.kind !== 'assistant') return false;
  return answer.ending !== null && messageOf(answer) === null;
}

function messageOf(turn: Turn): Message | null {
  switch (turn.kind) {
    case 'user':
      return { role: 'user', content: turn.images.length === 0 ? turn.text : partsOf(turn) };
    case 'tool':
      return { role: 'tool', tool_call_id: turn.callId, content: turn.result };
    case 'assistant': {
      const calls = callsOf(turn);
      if (calls.length > 0)
        return {
          role: 'assistant',
          content: turn.text === '' ? null : turn.text,
          tool_calls: calls.map(({ id, name, arguments: text }) => ({
            id,
            type: 'function',
            function: { name, arguments: text },
          })),
        };
      // An answer that never began would be refused as a message without content.
      return turn.text === '' ? null : { role: 'assistant', content: turn.text };
    }
  }
}

function partsOf({ text, images }: UserTurn): readonly Message[] {
  const pictures = images.map(({ url }) => ({ type: 'image_url', image_url: { url } }));
  return text === '' ? pictures : [{ type: 'text', text }, ...pictures];
}

/** Calls of an answer that did not end may lack their last words, and cannot be answered. */
function callsOf({ toolCalls, ending }: AssistantTurn): readonly ToolCall[] {
  return ending?.kind === 'finished' ? toolCalls : [];
}

/** The calls that wait for a result before anything else can be said. */
export function openCalls(turns: readonly Turn[]): readonly ToolCall[] {
  const last = turns.at(-1);
  return last?.kind === 'assistant' ? callsOf(last) : [];
}

/** Those of the request that a reader wants as code: the one being written, or else the one that was answered last. */
export function turnsAsCode(turns: readonly Turn[], draft: UserTurn): readonly Turn[] {
  if (draft.text.trim() !== '' || draft.images.length > 0) return [...turns, draft];
  return turns.at(-1)?.kind === 'assistant' ? turns.slice(0, -1) : turns;
}

/** The body of a chat request, out of all that was written and chosen. */
type RequestParts = Readonly<{
  model: ListedModel;
  system: string;
  parameters: Readonly<Record<string, unknown>>;
  tools: readonly ToolDefinition[];
}>;

/** What the model cannot do is not asked of it. */
export function chatRequestOf(parts: RequestParts, turns: readonly Turn[]): ChatRequestBody {
  const { model, system, parameters, tools } = parts;
  const { response_format: format, ...others } = parameters;
  const { capabilities } = model;
  return {
    model: model.id,
    messages: messagesOf(system, turns),
    ...others,
    ...(format !== undefined && capabilities.structured_output ? { response_format: format } : {}),
    ...(tools.length > 0 && capabilities.function_calling ? { tools } : {}),
    ...(capabilities.streaming ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

const longestShown = 60;

/** With pictures cut short: what is too long to read is too long to draw. */
export function withShortImages(code: string): string {
  return code.replace(/data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+/g, (url) =>
    url.length <= longestShown ? url : `${url.slice(0, longestShown)}…`,
  );
}
