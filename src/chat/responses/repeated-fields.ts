/** The fields of a response that repeat its request, with the values that were in effect. */
import type { JsonObject } from '../../providers/chat.ts';
import type { WireRequest } from './schema.ts';

/**
 * A client knows what it sent, and a stream repeats it three times. What is longer than this is left out, as if it had
 * not been sent.
 */
const maxCharacters = 65_536;

export function repeatedFields(wire: WireRequest): JsonObject {
  const { instructions, tools, reasoning, text } = wire;
  return {
    background: false,
    conversation: null,
    instructions: instructions != null && instructions.length <= maxCharacters ? instructions : null,
    max_output_tokens: wire.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: wire.metadata ?? {},
    parallel_tool_calls: wire.parallel_tool_calls ?? true,
    previous_response_id: null,
    prompt: null,
    prompt_cache_key: wire.prompt_cache_key ?? null,
    reasoning: {
      effort: reasoning?.effort ?? null,
      summary: reasoning?.summary ?? reasoning?.generate_summary ?? null,
    },
    safety_identifier: wire.safety_identifier ?? null,
    service_tier: 'default',
    store: false,
    temperature: wire.temperature ?? 1,
    text: {
      format: text?.format != null && isShort(text.format) ? text.format : { type: 'text' },
      verbosity: text?.verbosity ?? 'medium',
    },
    tool_choice: wire.tool_choice != null && isShort(wire.tool_choice) ? wire.tool_choice : 'auto',
    tools: tools != null && isShort(tools) ? tools : [],
    top_logprobs: 0,
    top_p: wire.top_p ?? 1,
    truncation: 'disabled',
    user: wire.user ?? null,
  };
}

function isShort(value: unknown): boolean {
  return charactersLeft(value, maxCharacters) >= 0;
}

/** About how many are left once this value is written; it stops counting below zero. */
function charactersLeft(value: unknown, left: number): number {
  if (typeof value === 'string') return left - value.length - 2;
  if (typeof value !== 'object' || value === null) return left - 4;
  let rest = left - 2;
  for (const name in value) {
    if (rest < 0) return rest;
    const own = Array.isArray(value) ? 1 : name.length + 4;
    rest = charactersLeft((value as JsonObject)[name], rest - own);
  }
  return rest;
}
