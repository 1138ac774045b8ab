/** Rejects what cannot be honoured, by name and before any money is held. Nothing is ever dropped silently. */
import { ApiError } from '../errors.ts';
import type { Model, OptionalParameter } from '../models/model.ts';
import type { ChatAdapter, ChatCall, ChatMessage } from '../providers/chat.ts';
import { type ChatOrder, isPassedOn } from '../providers/chat-call.ts';
import type { Unsupported } from '../providers/upstream.ts';
import type { Candidate } from '../routing/candidates.ts';
import type { ChatRequest } from './request.ts';

/**
 * Rejects what the model cannot do, whoever serves it. json_object needs no capability: it asks for JSON of any shape,
 * which nearly every chat model can write; json_schema promises a shape.
 */
export function checkCapabilities({ stream, call }: ChatRequest<unknown>, model: Model): void {
  const { capabilities, maxOutputTokens } = model;
  if (stream && !capabilities.streaming) throw unsupported('stream', 'This model cannot stream its answer.');
  if (!capabilities.imageInput && call.messages.some(hasImage))
    throw unsupported('messages', 'This model does not accept images.');
  if (call.tools !== null && !capabilities.functionCalling)
    throw unsupported('tools', 'This model does not call tools.');
  if (call.responseFormat?.type === 'json_schema' && !capabilities.structuredOutput)
    throw unsupported('response_format', 'This model does not support the response format json_schema.');
  const lacking =
    unsupportedParameter(call, model.unsupportedParameters) ??
    (model.reasoning === null ? unsupportedParameter(call, withoutReasoning) : null);
  if (lacking !== null) throw unsupported(lacking.param, lacking.message);
  if (call.maxTokens !== null && maxOutputTokens !== null && call.maxTokens > maxOutputTokens)
    throw new ApiError('invalid_parameter', {
      param: 'max_tokens',
      message: `This model writes at most ${maxOutputTokens} tokens: max_tokens must not be larger.`,
    });
}

type LimitedOrder = ChatOrder & Pick<ChatRequest<unknown>, 'outputLimit'>;

/** The candidates that can honour the whole request. When none can, the error names what the first one lacks. */
export function ableToServe(candidates: readonly Candidate[], order: LimitedOrder): readonly Candidate[] {
  const { call, original } = order;
  const lacking = candidates.map(({ connection: { provider }, chat, reasoning }) => {
    const { unsupportedParameters, dialect } = provider;
    const unsupportedHere = unsupportedParameter(call, unsupportedParameters) ?? tooLowLimit(order, chat);
    if (unsupportedHere !== null || isPassedOn(order, chat)) return unsupportedHere;
    return original?.untranslatable ?? chat.unsupported(call, dialect, reasoning);
  });
  if (lacking.every((found) => found === null)) return candidates;
  const able = candidates.filter((_, index) => lacking[index] === null);
  const [first] = lacking;
  if (able.length === 0 && first) throw unsupported(first.param, first.message);
  return able;
}

/** It is not raised: the answer would be longer, and dearer, than the client wants. */
function tooLowLimit(
  { call, outputLimit }: LimitedOrder,
  { minOutputTokens = 1 }: ChatAdapter,
): Unsupported | null {
  return (call.maxTokens ?? outputLimit ?? minOutputTokens) >= minOutputTokens
    ? null
    : { param: 'max_tokens', message: `This model takes a max_tokens of at least ${minOutputTokens}.` };
}

/** Whether a parameter is set to anything but its default. */
const isAsked: Readonly<Record<OptionalParameter, (call: ChatCall) => boolean>> = {
  temperature: (call) => call.temperature !== null,
  top_p: (call) => call.topP !== null,
  stop: (call) => call.stop !== null,
  presence_penalty: (call) => call.presencePenalty !== null && call.presencePenalty !== 0,
  tool_choice: (call) => call.toolChoice !== null && call.toolChoice !== 'auto',
  parallel_tool_calls: (call) => call.parallelToolCalls === false && call.tools !== null,
  response_format: (call) => call.responseFormat !== null && call.responseFormat.type !== 'text',
  seed: (call) => call.seed !== null,
  // A hint is left out instead.
  reasoning_effort: (call) => call.effort !== null && call.demandsEffort === true,
};

const withoutReasoning: ReadonlySet<OptionalParameter> = new Set(['reasoning_effort']);

function unsupportedParameter(call: ChatCall, names: ReadonlySet<OptionalParameter>): Unsupported | null {
  for (const param of names)
    if (isAsked[param](call))
      return { param, message: `This model does not support ${param}: leave it out.` };
  return null;
}

function hasImage(message: ChatMessage): boolean {
  return (
    (message.role === 'user' || message.role === 'tool') &&
    typeof message.content !== 'string' &&
    message.content.some((part) => part.type === 'image')
  );
}

function unsupported(param: string, message: string): ApiError {
  const docs = param === 'tools' ? 'chat#tools' : 'chat#what-a-model-cannot-do';
  return new ApiError('unsupported_parameter', { param, message, docs });
}
