/**
 * Thinking in Anthropic's Messages API, documented at platform.claude.com/docs/en/build-with-claude/extended-thinking,
 * adaptive-thinking and effort.
 */
import type { ChatCall, ChatMessage, Effort, Reasoning, Signature } from './chat.ts';
import { budgetOf, effortFor, type ReasoningSupport } from './effort.ts';
import type { Upstream } from './upstream.ts';
import type { Fields } from './wire.ts';

/** Marks the signature of thinking that the vendor shows nobody. The vendor's own have no colon. */
const redacted = 'redacted:';

export function wireThinking({ text, signature }: Reasoning): Fields {
  const value = signature?.value ?? '';
  return value.startsWith(redacted)
    ? { type: 'redacted_thinking', data: value.slice(redacted.length) }
    : { type: 'thinking', thinking: text, signature: value };
}

export function isThinking(block: Fields | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking';
}

/** A model rejects the thinking of any other. */
export function isMadeBy({ signature }: Reasoning, maker: string | undefined): boolean {
  return signature !== null && signature.madeBy === maker;
}

/** The signature in a block of thinking; null when it has none. */
export function signatureIn({ type, data, signature }: Fields, maker: string): Signature | null {
  if (type === 'redacted_thinking')
    return typeof data === 'string' ? { value: redacted + data, madeBy: maker } : null;
  return typeof signature === 'string' && signature !== '' ? { value: signature, madeBy: maker } : null;
}

/**
 * What the model is told about its thinking. Newer models decide themselves when to think, and older ones get a number of
 * tokens. What they have thought is only shown on request.
 */
export function wireReasoning(
  call: ChatCall,
  { reasoning, maxOutputTokens, showsReasoning, maker }: Upstream,
): Readonly<{ thinking?: object; effort?: Effort }> {
  const effort = effortFor(call, reasoning);
  if (effort === null) return {};
  if (effort === 'none') return { thinking: { type: 'disabled' } };
  const display = showsReasoning === true ? { display: 'summarized' } : {};
  if (reasoning?.control === 'effort')
    return { effort, ...(mayThink(call) && { thinking: { type: 'adaptive', ...display } }) };
  const budget =
    mayThink(call) && mayThinkNow(call.messages, maker) ? budgetOf(effort, maxOutputTokens) : null;
  return budget === null ? {} : { thinking: { type: 'enabled', budget_tokens: budget, ...display } };
}

/** A model that thinks takes no sampling parameters and cannot be forced to call a tool. */
function mayThink({ temperature, topP, toolChoice }: ChatCall): boolean {
  const isForced = toolChoice === 'required' || (typeof toolChoice === 'object' && toolChoice !== null);
  return (temperature === null || temperature === 1) && topP === null && !isForced;
}

/** With a budget, a turn in which the model calls tools has to begin with its thinking, or go on without any. */
function mayThinkNow(messages: readonly ChatMessage[], maker: string | undefined): boolean {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const answer = turn.find((message) => message.role === 'assistant');
  const [first] = answer?.items ?? [];
  return answer === undefined || (first?.type === 'reasoning' && isMadeBy(first, maker));
}

/** Why an effort that the client demands cannot be honoured. An effort that has a name applies even without thinking. */
export function effortProblem(call: ChatCall, reasoning: ReasoningSupport | null | undefined): string | null {
  const effort = call.demandsEffort === true ? effortFor(call, reasoning) : null;
  if (effort === null || effort === 'none' || reasoning?.control === 'effort' || mayThink(call)) return null;
  return 'This model cannot think with temperature, top_p or a forced tool: leave them out, or reasoning_effort.';
}
