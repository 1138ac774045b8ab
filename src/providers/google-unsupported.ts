/**
 * What Google's Gemini API does not support, or rejects with an error that would not help the client. Whatever only some of
 * its models reject belongs in the catalogue.
 */
import { type ChatCall, type ChatMessage, type ImagePart, type ToolCall, toolCallsOf } from './chat.ts';
import { dataUrlHead, type MessageOf, type Turn, turnsOf } from './google-request.ts';
import { areReadable, deepestArguments, readArguments, tooMuchToRead } from './tool-arguments.ts';
import type { Unsupported } from './upstream.ts';

/** In the order of the contract's table of parameters. */
export function unsupported(call: ChatCall): Unsupported | null {
  const problems: readonly (readonly [string, string | null])[] = [
    ['messages', messagesProblem(call.messages)],
    ['presence_penalty', penaltyProblem(call)],
    ['tools', toolsProblem(call)],
    ['parallel_tool_calls', parallelProblem(call)],
    ['response_format', formatProblem(call)],
  ];
  for (const [param, message] of problems) if (message !== null) return { param, message };
  return null;
}

function messagesProblem(messages: readonly ChatMessage[]): string | null {
  if (!areReadable(messages)) return tooMuchToRead;
  if (!messages.some(({ role }) => role === 'user')) return 'This model needs at least one user message.';
  for (const message of messages) {
    const problem = messageProblem(message);
    if (problem !== null) return problem;
  }
  return turnsProblem(turnsOf(messages));
}

function messageProblem(message: ChatMessage): string | null {
  if ((message.role === 'user' || message.role === 'tool') && typeof message.content !== 'string') {
    const types = message.role === 'user' ? imageTypes : resultImageTypes;
    for (const part of message.content) {
      const problem = part.type === 'image' ? imageProblem(part, types) : null;
      if (problem !== null) return problem;
    }
  }
  if (message.role !== 'assistant') return null;
  if (toolCallsOf(message.items).every((call) => readArguments(call.arguments) !== null)) return null;
  return `This model takes the arguments of a tool call only as a JSON object of at most ${deepestArguments} levels.`;
}

/** Documented at ai.google.dev/gemini-api/docs/function-calling for results, and at …/image-understanding. */
const resultImageTypes = ['image/png', 'image/jpeg', 'image/webp'];
const imageTypes = [...resultImageTypes, 'image/heic', 'image/heif'];

/** The format wants a media type with a URL, and only fetching the image would reveal it. */
function imageProblem({ url, detail }: ImagePart, types: readonly string[]): string | null {
  if (detail === 'low')
    return 'This model has no low detail for single images: set detail to "auto" or "high", or leave it out.';
  const head = dataUrlHead(url);
  if (head === null) return 'This model takes images as data: URLs only.';
  return types.includes(head.mimeType)
    ? null
    : `This model takes images of these types only: ${types.join(', ')}.`;
}

/** The format rejects calls at the start, and calls that are not followed at once by as many results. */
function turnsProblem(turns: readonly Turn[]): string | null {
  for (const [index, turn] of turns.entries()) {
    if (turn.kind === 'user') continue;
    if (index === 0 && turn.calls.length > 0) return 'A tool call must come after a user message.';
    const next = turn.kind === 'results' ? turn : turns[index + 1];
    if (!areAnswered(turn.calls, next?.kind === 'results' ? next.messages : []))
      return 'Each tool call must be answered by exactly one tool message, before any other message follows.';
  }
  return null;
}

function areAnswered(calls: readonly ToolCall[], results: readonly MessageOf<'tool'>[]): boolean {
  const called = calls.map(({ id }) => id).toSorted();
  const answered = results.map(({ toolCallId }) => toolCallId).toSorted();
  return called.length === answered.length && called.every((id, index) => id === answered[index]);
}

/** The field is in the reference, but every model in service rejects any value that would have an effect. */
function penaltyProblem({ presencePenalty }: ChatCall): string | null {
  return (presencePenalty ?? 0) === 0
    ? null
    : 'This model does not support presence_penalty: leave it out or set it to 0.';
}

function toolsProblem({ tools }: ChatCall): string | null {
  return (tools ?? []).every(({ name }) => /^[a-zA-Z_]/.test(name))
    ? null
    : 'For this model the name of a function must begin with a letter or an underscore.';
}

/** Without tools there are no calls to restrict. */
function parallelProblem({ parallelToolCalls, tools }: ChatCall): string | null {
  return parallelToolCalls !== false || tools === null
    ? null
    : 'This model cannot be held to a single tool call: leave parallel_tool_calls out.';
}

/** Tools together with JSON are documented for the newest generation only, which the call does not reveal. */
function formatProblem({ responseFormat, tools }: ChatCall): string | null {
  if (responseFormat === null || responseFormat.type === 'text') return null;
  if (responseFormat.type === 'json_schema' && responseFormat.schema === null)
    return 'This model needs a schema for json_schema: add one, or use json_object for JSON of any shape.';
  return tools === null
    ? null
    : `This model cannot combine tools with ${responseFormat.type}: leave out tools or response_format.`;
}
