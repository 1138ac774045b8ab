/** The turns of a conversation, and the chat request that they become. */
import type { ApiProblem } from '../../api/client.ts';
import type { ChatRequestBody } from '../../kit/code-samples.ts';
import type { ListedModel } from '../models/models.ts';
import type { ToolDefinition } from './settings.ts';

export type ToolCall = Readonly<{ id: string; name: string; arguments: string }>;
export type ImageInput = Readonly<{ name: string; url: string }>;

export type UserTurn = Readonly<{ kind: 'user'; text: string; images: readonly ImageInput[] }>;
export type ToolTurn = Readonly<{ kind: 'tool'; callId: string; name: string; result: string }>;

/** How a response ended. */
export type Ending =
  | Readonly<{ kind: 'finished'; reason: string | null }>
  | Readonly<{ kind: 'stopped' }>
  | Readonly<{ kind: 'failed'; problem: ApiProblem }>;

export type AssistantTurn = Readonly<{
  kind: 'assistant';
  text: string;
  toolCalls: readonly ToolCall[];
  requestId: string | null;
  /** Why the model stopped. It arrives before the response is known to be complete. */
  finishReason: string | null;
  ending: Ending | null;
}>;

export type Turn = UserTurn | AssistantTurn | ToolTurn;

export const emptyTurn: AssistantTurn = {
  kind: 'assistant',
  text: '',
  toolCalls: [],
  requestId: null,
  finishReason: null,
  ending: null,
};

export type Message = Readonly<Record<string, unknown>>;

export function messagesOf(system: string, turns: readonly Turn[]): readonly Message[] {
  const messages = turns
    .filter((_, at) => !isUnanswered(turns, at))
    .map(messageOf)
    .filter((message) => message !== null);
  return system.trim() === '' ? messages : [{ role: 'system', content: system }, ...messages];
}

/** A message whose response never started. Models reject two user messages in a row, so it is not sent again. */
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
      // A response that never started would be rejected as a message without content.
      return turn.text === '' ? null : { role: 'assistant', content: turn.text };
    }
  }
}

function partsOf({ text, images }: UserTurn): readonly Message[] {
  const parts = images.map(({ url }) => ({ type: 'image_url', image_url: { url } }));
  return text === '' ? parts : [{ type: 'text', text }, ...parts];
}

/** The calls of an incomplete response may be incomplete too, and cannot be answered. */
function callsOf({ toolCalls, ending }: AssistantTurn): readonly ToolCall[] {
  return ending?.kind === 'finished' ? toolCalls : [];
}

/** The calls that need a result before the conversation can continue. */
export function openCalls(turns: readonly Turn[]): readonly ToolCall[] {
  const last = turns.at(-1);
  return last?.kind === 'assistant' ? callsOf(last) : [];
}

/** The turns of the request to show as code: the one being written, or else the last one. */
export function turnsAsCode(turns: readonly Turn[], draft: UserTurn): readonly Turn[] {
  if (draft.text.trim() !== '' || draft.images.length > 0) return [...turns, draft];
  return turns.at(-1)?.kind === 'assistant' ? turns.slice(0, -1) : turns;
}

type RequestParts = Readonly<{
  model: ListedModel;
  system: string;
  parameters: Readonly<Record<string, unknown>>;
  tools: readonly ToolDefinition[];
}>;

/** Settings that the model does not support are left out. */
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

const maxShownLength = 60;

/** Shortens images, which are too long to display. */
export function withShortImages(code: string): string {
  return code.replace(/data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+/g, (url) =>
    url.length <= maxShownLength ? url : `${url.slice(0, maxShownLength)}…`,
  );
}
