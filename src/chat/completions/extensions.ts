/**
 * Parameters beyond the contract, each of which an operator may allow. What is allowed is served, or refused by name where
 * a model cannot do it; nothing is ignored. The rest of the body is parsed as ever.
 */
import { z } from 'zod';
import { ApiError } from '../../errors.ts';
import { firstProblem, type Problem, toApiError } from '../../json/problem.ts';
import { efforts } from '../../providers/chat.ts';
import { attributionOfUser } from '../attribution.ts';
import type { ChatRequest } from '../request.ts';
import { type AskedOfCompletions, parseChat } from './parse.ts';

/** As in CHAT_EXTENSIONS. */
export type ChatExtension =
  | 'max_completion_tokens'
  | 'reasoning_effort'
  | 'user'
  | 'tool_choice_required'
  | 'developer';

type Extensions = ReadonlySet<ChatExtension>;
type Body = Readonly<Record<string, unknown>>;

export function parseExtendedChat(body: unknown, extensions: Extensions): ChatRequest<AskedOfCompletions> {
  if (extensions.size === 0 || !isBody(body)) return parseChat(body);
  const { reasoning_effort: effort, user } = readAdded(body, extensions);
  const isToolRequired = extensions.has('tool_choice_required') && body.tool_choice === 'required';
  const isRenamed = extensions.has('max_completion_tokens') && body.max_completion_tokens != null;
  if (isRenamed && body.max_tokens != null) throw toApiError(twoLimits);
  const request = parseContracted(asContracted(body, extensions, isRenamed), isRenamed);
  if (isToolRequired && request.call.tools === null) throw toApiError(nothingToRequire);
  return {
    ...request,
    call: {
      ...request.call,
      effort: effort ?? null,
      demandsEffort: effort != null,
      toolChoice: isToolRequired ? 'required' : request.call.toolChoice,
    },
    attribution: attributionOfUser(user ?? null),
  };
}

const maxUserCharacters = 256;
const expectedUser = `a non-empty string of up to ${maxUserCharacters} characters, or null`;
const expectedEffort = `${efforts.map((effort) => `"${effort}"`).join(', ')} or null`;

const addedSchema = z.object({
  reasoning_effort: z.enum(efforts, expectedEffort).nullish(),
  user: z.string(expectedUser).min(1, expectedUser).max(maxUserCharacters, expectedUser).nullish(),
});
const addedNames = ['reasoning_effort', 'user'] as const;

/** The parameters that the contract has no other name for. */
function readAdded(body: Body, extensions: Extensions): z.output<typeof addedSchema> {
  const given = addedNames.filter((name) => extensions.has(name) && Object.hasOwn(body, name));
  const added = Object.fromEntries(given.map((name) => [name, body[name]]));
  const result = addedSchema.safeParse(added);
  if (result.success) return result.data;
  throw toApiError({ ...firstProblem(result.error.issues, added), docs });
}

/** The same body as the contract would have it, in the same order. */
function asContracted(body: Body, extensions: Extensions, isRenamed: boolean): Body {
  const isAdded = (name: string) => (name === 'reasoning_effort' || name === 'user') && extensions.has(name);
  const entries = Object.entries(body).flatMap(([name, value]): [string, unknown][] => {
    // Null means absent, whichever of the two it is.
    if (isAdded(name) || (name === 'max_tokens' && isRenamed)) return [];
    if (name === 'max_completion_tokens' && extensions.has(name))
      return isRenamed ? [['max_tokens', value]] : [];
    if (name === 'tool_choice' && value === 'required' && extensions.has('tool_choice_required'))
      return [[name, 'auto']];
    if (name === 'messages' && extensions.has('developer')) return [[name, withoutDevelopers(value)]];
    return [[name, value]];
  });
  return Object.fromEntries(entries);
}

/** A developer's instructions are what the contract calls a system message. */
function withoutDevelopers(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages;
  return messages.map((message: unknown) =>
    isBody(message) && message.role === 'developer' ? { ...message, role: 'system' } : message,
  );
}

/** A problem with a limit that was renamed is one with the client's own parameter. */
function parseContracted(body: Body, isRenamed: boolean): ChatRequest<AskedOfCompletions> {
  try {
    return parseChat(body);
  } catch (error) {
    if (!isRenamed || !(error instanceof ApiError) || error.param !== 'max_tokens') throw error;
    const message = error.message.replaceAll('max_tokens', 'max_completion_tokens');
    throw new ApiError(error.code, { message, param: 'max_completion_tokens', docs });
  }
}

function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const docs = 'chat#extensions';

const twoLimits: Problem = {
  code: 'invalid_parameter',
  path: ['max_completion_tokens'],
  message: 'The parameters max_tokens and max_completion_tokens mean the same: give one of them.',
  docs,
};

const nothingToRequire: Problem = {
  code: 'invalid_parameter',
  path: ['tool_choice'],
  message: 'The tool_choice "required" needs at least one tool.',
  docs,
};
