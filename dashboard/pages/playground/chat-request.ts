/** The body of a chat request, out of all that was written and chosen. */
import type { ChatRequestBody } from '../../kit/code-samples.ts';
import type { ListedModel } from '../models/listed-model.ts';
import { messagesOf, type Turn } from './conversation.ts';
import type { ToolDefinition } from './tool-definitions.ts';

type RequestParts = Readonly<{
  model: ListedModel;
  system: string;
  parameters: Readonly<Record<string, unknown>>;
  tools: readonly ToolDefinition[];
}>;

/** What the model cannot do is not asked of it. */
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

const longestShown = 60;

/** With pictures cut short: what is too long to read is too long to draw. */
export function withShortImages(code: string): string {
  return code.replace(/data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+/g, (url) =>
    url.length <= longestShown ? url : `${url.slice(0, longestShown)}…`,
  );
}
