/**
 * What is refused whoever serves the request: what would have to be stored here, and what has a price of its own that
 * nobody set. Each message says what to do instead.
 */
import type { JsonObject } from '../../providers/chat.ts';
import { refused } from './reading.ts';

type Rule = Readonly<{ isFine: (value: unknown) => boolean; message: string }>;

const only =
  (...values: readonly unknown[]) =>
  (value: unknown) =>
    value === null || values.includes(value);

const nothingStored = 'Nothing is stored here: send the whole conversation in input, and leave out';

/** By the name of the field. Null is always fine. */
const fields: Readonly<Record<string, Rule>> = {
  previous_response_id: { isFine: only(), message: `${nothingStored} previous_response_id.` },
  conversation: { isFine: only(), message: `${nothingStored} conversation.` },
  background: {
    isFine: (value) => value !== true,
    message:
      'Nothing is stored here, so no response can be fetched later: leave background out, and use stream for long answers.',
  },
  prompt: {
    isFine: only(),
    message: 'Prompt templates are not stored here: send their text in instructions and input.',
  },
  service_tier: {
    isFine: only('auto', 'default'),
    message:
      'Other service tiers have no price here: leave service_tier out, or set it to "auto" or "default".',
  },
  truncation: {
    isFine: only('disabled'),
    message: 'The input is never cut: leave truncation out, and shorten the conversation yourself.',
  },
  top_logprobs: { isFine: only(0), message: 'Log probabilities are not supported: leave top_logprobs out.' },
  max_tool_calls: {
    isFine: only(),
    message: 'It limits built-in tools, which are not supported: leave max_tool_calls out.',
  },
  prompt_cache_options: {
    isFine: only(),
    message: 'Caches are managed by the gateway: leave prompt_cache_options out.',
  },
  prompt_cache_retention: {
    isFine: only('in_memory'),
    message: 'Caches are managed by the gateway: leave prompt_cache_retention out.',
  },
  context_management: { isFine: only(), message: unavailable('context_management') },
  moderation: { isFine: only(), message: unavailable('moderation') },
  access_programs: { isFine: only(), message: unavailable('access_programs') },
  image: { isFine: only(), message: unavailable('image') },
  audio: { isFine: only(), message: unavailable('audio') },
  modalities: { isFine: only(), message: unavailable('modalities') },
  // Of other formats. Servers that speak several may obey them, and write more than is held for.
  n: { isFine: only(1), message: otherLimit('n') },
  best_of: { isFine: only(1), message: otherLimit('best_of') },
  min_tokens: { isFine: only(), message: otherLimit('min_tokens') },
  max_tokens: { isFine: only(), message: otherLimit('max_tokens') },
  max_completion_tokens: { isFine: only(), message: otherLimit('max_completion_tokens') },
  max_new_tokens: { isFine: only(), message: otherLimit('max_new_tokens') },
};

function unavailable(name: string): string {
  return `This feature of OpenAI's servers has no price here: leave ${name} out.`;
}

function otherLimit(name: string): string {
  return `Only max_output_tokens says how long an answer may get: leave ${name} out.`;
}

/** They are read here and nowhere else. */
export const refusedFields: ReadonlySet<string> = new Set(Object.keys(fields));

export function checkFields(body: JsonObject): void {
  for (const name in body) {
    const rule = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (rule !== undefined && body[name] !== undefined && !rule.isFine(body[name]))
      throw refused([name], rule.message);
  }
}

const encryptedReasoning = 'reasoning.encrypted_content';

/** Whether reasoning comes back in a form that the client can send again. */
export function includesReasoning(include: readonly string[] | null | undefined): boolean {
  for (const [index, value] of (include ?? []).entries())
    if (value !== encryptedReasoning)
      throw refused(
        ['include', index],
        `Only "${encryptedReasoning}" can be included: leave the rest of include out.`,
      );
  return (include?.length ?? 0) > 0;
}

/** Items of built-in tools, and of what OpenAI's servers do with stored conversations. */
const refusedItems =
  /^(?:compaction(?:_trigger)?|configuration_update|program.*|(?:local_)?shell_call.*|apply_patch_call.*|computer_call.*|(?:file_search|web_search|image_generation|code_interpreter)_call|mcp_.*)$/;
const maxTypeShown = 40;

export function checkItemType(type: string, index: number): void {
  if (type === 'item_reference')
    throw refused(
      ['input', index],
      'Nothing is stored here, so no item can be referred to: send it whole. For the AI SDK, set store: false under ' +
        'providerOptions.openai.',
      'responses#ai-sdk',
    );
  if (refusedItems.test(type))
    throw refused(
      ['input', index, 'type'],
      `Items of the type "${type.slice(0, maxTypeShown)}" belong to built-in tools and stored conversations, which are not ` +
        'supported: leave them out.',
    );
}

/**
 * Tools that the client runs itself, or that search without leaving OpenAI's index, cannot be refused: Codex always offers
 * them. The search has no price here, so it is never offered to a model.
 */
export function fateOfTool(tool: JsonObject): 'kept' | 'dropped' | 'passed_on' | 'refused' {
  const { type } = tool;
  if (type === 'function' || type === 'custom' || type === 'namespace') return 'kept';
  if (type === 'web_search') return tool.external_web_access === false ? 'dropped' : 'refused';
  if (type === 'tool_search') return tool.execution === 'client' ? 'passed_on' : 'refused';
  return 'refused';
}

export function refusedTool(tool: JsonObject, path: readonly (string | number)[]): Error {
  const { type } = tool;
  const shown = typeof type === 'string' ? `"${type.slice(0, maxTypeShown)}"` : 'this type';
  const instead =
    type === 'web_search'
      ? 'In Codex, set web_search = "disabled".'
      : 'Declare functions, and run them in your program.';
  return refused(
    [...path, 'type'],
    `Built-in tools such as ${shown} have no price here. ${instead}`,
    'responses#tools',
  );
}
