/** The response object of the Responses format, its items and its usage. */
import { type ApiError, type ErrorCode, errorTable } from '../../errors.ts';
import type { Charge } from '../../ledger/settlement.ts';
import { formatMoney } from '../../lib/money.ts';
import type {
  AnswerItem,
  ChatAnswer,
  FinishReason,
  JsonObject,
  ReportedUsage,
  Signature,
  ToolCall,
} from '../../providers/chat.ts';
import { itemIdOf, responseIdOf } from '../../providers/responses-ids.ts';
import { objectAt } from '../../providers/wire.ts';
import type { ResponseFacts } from '../dialect.ts';
import { inputOf } from './free-form.ts';
import type { AskedOfResponses } from './parse.ts';
import type { ClientTool } from './tools.ts';

export type Facts = ResponseFacts<AskedOfResponses>;

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export function presentResponse(facts: Facts, answer: ChatAnswer, charge: Charge): object {
  const usage = presentUsage(charge, answer.usage?.reasoningTokens ?? null);
  if (answer.wire !== undefined) return passedOnResponse(facts, answer.wire, usage);
  return {
    ...endedHead(facts, answer.finishReason),
    output: presentItems(facts, answer),
    usage,
    ...facts.asked.repeated,
  };
}

/** A provider's own response, with what it was not told and what it cannot know. */
export function passedOnResponse({ asked }: Facts, wire: JsonObject, usage: object): object {
  const { metadata, prompt_cache_key, safety_identifier, user, store } = asked.repeated;
  const own = { metadata, prompt_cache_key, safety_identifier, user, store };
  return { ...wire, ...own, usage: { ...objectAt(wire, 'usage'), ...usage } };
}

/** What begins every form of the response. */
export function headOf({ requestId, createdSeconds, model }: Facts, status: string) {
  return {
    id: responseIdOf(requestId),
    object: 'response',
    created_at: createdSeconds,
    status,
    error: null as object | null,
    model,
  };
}

/** The same of a response that has ended as it should. */
export function endedHead(facts: Facts, reason: FinishReason) {
  const status = statusOf(reason);
  return {
    ...headOf(facts, status),
    completed_at: status === 'completed' ? Math.floor(Date.now() / 1_000) : null,
    incomplete_details: incompleteDetails(reason),
  };
}

export function statusOf(reason: FinishReason): 'completed' | 'incomplete' {
  return reason === 'length' || reason === 'content_filter' ? 'incomplete' : 'completed';
}

function incompleteDetails(reason: FinishReason): object | null {
  if (statusOf(reason) === 'completed') return null;
  return { reason: reason === 'length' ? 'max_output_tokens' : 'content_filter' };
}

/**
 * Without any item, agents would ask again, and pay again: what the model says with an empty answer is that it has
 * nothing to say.
 */
export function needsMessage(hasAnswer: boolean, reason: FinishReason): boolean {
  return !hasAnswer && statusOf(reason) === 'completed';
}

function presentItems(facts: Facts, { items, finishReason }: ChatAnswer): readonly object[] {
  const { asked } = facts;
  const shown = items.filter((item) => isShown(item, asked));
  const hasAnswer = shown.some(({ type }) => type !== 'reasoning');
  if (needsMessage(hasAnswer, finishReason)) shown.push({ type: 'text', text: '' });
  return shown.map((item, place) => {
    const status = place === shown.length - 1 ? statusOf(finishReason) : 'completed';
    return presentItem(facts, item, place, status);
  });
}

function presentItem(facts: Facts, item: AnswerItem, place: number, status: ItemStatus): object {
  const { asked, requestId } = facts;
  switch (item.type) {
    case 'text':
      return presentMessage(itemIdOf(requestId, 'message', place), status, item.text);
    case 'tool_call':
      return presentCall(facts, place, status, item);
    case 'reasoning':
      return presentReasoning(
        itemIdOf(requestId, 'reasoning', place),
        item.text,
        sealed(asked, item.signature),
      );
  }
}

/** Text that is empty says nothing, and neither does reasoning of which nothing can be shown. */
function isShown(item: AnswerItem, asked: AskedOfResponses): boolean {
  if (item.type === 'tool_call') return true;
  if (item.type === 'text') return item.text !== '';
  return asked.showsReasoning && (item.text !== '' || (asked.seal !== null && item.signature !== null));
}

/** Undefined unless the client asked for it. */
export function sealed({ seal }: AskedOfResponses, signature: Signature | null): string | null | undefined {
  if (seal === null) return undefined;
  return signature === null ? null : seal(signature);
}

export function presentPart(text: string) {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

export function presentMessage(id: string, status: ItemStatus, text: string | null) {
  return {
    id,
    type: 'message',
    status,
    role: 'assistant',
    content: text === null ? [] : [presentPart(text)],
  };
}

export function presentReasoning(id: string, text: string, encrypted: string | null | undefined) {
  return {
    id,
    type: 'reasoning',
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    ...(encrypted !== undefined && { encrypted_content: encrypted }),
  };
}

function presentCall(facts: Facts, place: number, status: ItemStatus, call: ToolCall): object {
  const tool = clientTool(facts.asked, call.name);
  const id = itemIdOf(facts.requestId, typeOfCall(tool), place);
  const written = tool.isFreeForm ? inputOf(call.arguments) : call.arguments;
  return writtenCall(tool, id, status, call.id, written);
}

/** A name that the model made up stays as it is. */
export function clientTool({ names }: AskedOfResponses, name: string): ClientTool {
  return names.get(name) ?? { name, namespace: null, isFreeForm: false };
}

export function typeOfCall({ isFreeForm }: ClientTool): 'custom_tool_call' | 'function_call' {
  return isFreeForm ? 'custom_tool_call' : 'function_call';
}

export function writtenCall(
  tool: ClientTool,
  id: string,
  status: ItemStatus,
  callId: string,
  written: string,
): object {
  return {
    id,
    type: typeOfCall(tool),
    status,
    call_id: callId,
    name: tool.name,
    ...(tool.namespace !== null && { namespace: tool.namespace }),
    ...(tool.isFreeForm ? { input: written } : { arguments: written }),
  };
}

/** `cost` is beyond the format: what was charged, in USD. */
export function presentUsage(
  { usage: { inputTokens, outputTokens, cached }, cost }: Charge,
  reasoningTokens: ReportedUsage['reasoningTokens'],
) {
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: cached?.read ?? 0,
      cache_write_tokens: (cached?.write ?? 0) + (cached?.writeLong ?? 0),
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: Math.min(reasoningTokens ?? 0, outputTokens) },
    total_tokens: inputTokens + outputTokens,
    cost: formatMoney(cost.total),
  };
}

/**
 * The error of a response that failed after it had begun. Clients decide by `code` whether to try again, and know only the
 * vendor's own; ours is beside it.
 */
export function presentFailure(error: ApiError) {
  const code = failureCodeOf(rootOf(error).code);
  // Codex gives up after some tries and shows nothing but the message.
  const isWorthRetrying = code === 'server_error' && !error.message.includes('Try again');
  return {
    code,
    message: isWorthRetrying ? `${error.message} Try again.` : error.message,
    type: errorTable[error.code].type,
    gateway_code: error.code,
  };
}

/** What failed first: a stream has fewer codes for it than a response has statuses. */
function rootOf(error: ApiError): ApiError {
  return error.cause instanceof Error && 'code' in error.cause ? (error.cause as ApiError) : error;
}

function failureCodeOf(code: ErrorCode): string {
  if (code === 'insufficient_balance') return 'insufficient_quota';
  if (code === 'provider_rate_limit' || code === 'rate_limit_exceeded') return 'rate_limit_exceeded';
  const { retryable, type } = errorTable[code];
  // The same request would fail again, or be charged again. Of the codes that say so, this one shows the message.
  return retryable === 'no' || type === 'billing_error' ? 'invalid_prompt' : 'server_error';
}
