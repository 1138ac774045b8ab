import { ApiError } from '../errors.ts';
import type { Model } from '../models/model.ts';
import type { ChatMessage } from '../providers/chat.ts';
import type { ChatRequest } from './parse.ts';

/**
 * Refuses what the model cannot do. json_object needs no capability: it asks for JSON of any shape, which every
 * chat model writes; json_schema promises a shape.
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
  if (call.maxTokens !== null && maxOutputTokens !== null && call.maxTokens > maxOutputTokens)
    throw new ApiError('invalid_parameter', {
      param: 'max_tokens',
      message: `This model writes at most ${maxOutputTokens} tokens: max_tokens must not be larger.`,
    });
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
