/** Refuses what cannot be honoured, by name and before any money is held. Nothing is ever left out silently. */
import { ApiError } from '../errors.ts';
import type { Model, OptionalParameter } from '../models/model.ts';
import type { ChatCall, ChatMessage } from '../providers/chat.ts';
import type { Unsupported } from '../providers/upstream.ts';
import type { Candidate } from '../routing/candidates.ts';
import type { ChatRequest } from './parse.ts';

/**
 * Refuses what the model cannot do, whoever serves it. json_object needs no capability: it asks for JSON of any shape,
 * which nearly every chat model writes; json_schema promises a shape.
 */
export function checkCapabilities({ stream, call }: ChatRequest, model: Model): void {
  const { capabilities, maxOutputTokens } = model;
  if (stream && !capabilities.streaming) throw unsupported('stream', 'This model cannot stream its answer.');
  if (!capabilities.imageInput && call.messages.some(hasImage))
    throw unsupported('messages', 'This model does not accept images.');
  if (call.tools !== null && !capabilities.functionCalling)
    throw unsupported('tools', 'This model does not call tools.');
  if (call.responseFormat?.type === 'json_schema' && !capabilities.structuredOutput)
    throw unsupported('response_format', 'This model does not support the response format json_schema.');
  const refusal = refusedParameter(call, model.unsupportedParameters);
  if (refusal !== null) throw unsupported(refusal.param, refusal.message);
  if (call.maxTokens !== null && maxOutputTokens !== null && call.maxTokens > maxOutputTokens)
    throw new ApiError('invalid_parameter', {
      param: 'max_tokens',
      message: `This model writes at most ${maxOutputTokens} tokens: max_tokens must not be larger.`,
    });
}

/** Those of the candidates that can honour the whole request. When none can, it is refused for what the first lacks. */
export function ableToServe(candidates: readonly Candidate[], call: ChatCall): readonly Candidate[] {
  const refusals = candidates.map((candidate) => refusalOf(candidate, call));
  if (refusals.every((refusal) => refusal === null)) return candidates;
  const able = candidates.filter((_, index) => refusals[index] === null);
  const [first] = refusals;
  if (able.length === 0 && first) throw unsupported(first.param, first.message);
  return able;
}

function refusalOf({ connection }: Candidate, call: ChatCall): Unsupported | null {
  const { unsupportedParameters, dialect } = connection.provider;
  return refusedParameter(call, unsupportedParameters) ?? connection.chat.unsupported(call, dialect);
}

/** Whether a parameter asks for anything but what happens without it. */
const isAsked: Readonly<Record<OptionalParameter, (call: ChatCall) => boolean>> = {
  temperature: (call) => call.temperature !== null,
  top_p: (call) => call.topP !== null,
  stop: (call) => call.stop !== null,
  presence_penalty: (call) => call.presencePenalty !== null && call.presencePenalty !== 0,
  tool_choice: (call) => call.toolChoice !== null && call.toolChoice !== 'auto',
  parallel_tool_calls: (call) => call.parallelToolCalls === false && call.tools !== null,
  response_format: (call) => call.responseFormat !== null && call.responseFormat.type !== 'text',
  seed: (call) => call.seed !== null,
};

function refusedParameter(
  call: ChatCall,
  unsupportedOnes: ReadonlySet<OptionalParameter>,
): Unsupported | null {
  for (const param of unsupportedOnes) {
    if (isAsked[param](call))
      return { param, message: `This model does not support ${param}: leave it out.` };
  }
  return null;
}

function hasImage(message: ChatMessage): boolean {
  return (
    message.role === 'user' &&
    typeof message.content !== 'string' &&
    message.content.some((part) => part.type === 'image')
  );
}

function unsupported(param: string, message: string): ApiError {
  return new ApiError('unsupported_parameter', { param, message });
}
