/**
 * What is sent to Google's Gemini API: a call becomes the body of `generateContent`.
 * Documented at ai.google.dev/api/generate-content and ai.google.dev/gemini-api/docs/generate-content.
 */
import { parseBoundedJson } from '../json/bounded.ts';
import {
  type ChatCall,
  type ChatMessage,
  hasStrictTool,
  type ImagePart,
  type ResponseFormat,
  type TextPart,
  type Tool,
  type ToolCall,
  type ToolResult,
  textOfParts,
  toolCallsOf,
} from './chat.ts';
import { budgetOf, effortFor } from './effort.ts';
import { ResultReader, readArguments } from './tool-arguments.ts';
import { type ErrorDetails, requestHeaders, type Upstream, type UpstreamRequest } from './upstream.ts';
import { arrayAt, isObject, objectAt } from './wire.ts';

export function chatRequest(call: ChatCall, upstream: Upstream, stream: boolean): UpstreamRequest {
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  return postTo(upstream, method, requestBody(call, upstream));
}

/** The key goes into a header and never into the URL, which others may log. */
export function postTo(upstream: Upstream, method: string, body: object): UpstreamRequest {
  return {
    url: `${upstream.baseUrl}/models/${encodeURIComponent(upstream.model)}:${method}`,
    headers: requestHeaders(upstream, upstream.apiKey === null ? {} : { 'x-goog-api-key': upstream.apiKey }),
    body: JSON.stringify(body),
    readError,
  };
}

/** For Google an invalid key is a bad request, and the time to wait is in the body (google.rpc.ErrorInfo and RetryInfo). */
function readError(status: number, body: unknown): ErrorDetails | null {
  const details = arrayAt(objectAt(body, 'error'), 'details').filter(isObject);
  if (status === 400 && details.some(({ reason }) => reason === 'API_KEY_INVALID'))
    return { code: 'provider_authentication_error', retryAfterSeconds: null };
  if (status !== 429) return null;
  const delay = details.map(({ retryDelay }) => /^(\d{1,6})(?:\.\d+)?s$/.exec(`${retryDelay}`)).find(Boolean);
  return delay
    ? { code: 'provider_rate_limit', retryAfterSeconds: Math.ceil(Number.parseFloat(delay[0])) }
    : null;
}

/**
 * What the client left out is left out here too: `undefined` is not serialized. What a conversation begins with comes
 * first.
 */
function requestBody(call: ChatCall, upstream: Upstream): object {
  const { model, maxOutputTokens } = upstream;
  const system = call.messages.flatMap((message) =>
    message.role === 'system' ? [{ text: message.content }] : [],
  );
  const reader = new ResultReader();
  return {
    systemInstruction: system.length === 0 ? undefined : { parts: system },
    tools: call.tools === null ? undefined : [{ functionDeclarations: call.tools.map(wireTool) }],
    contents: turnsOf(call.messages)
      .map((turn) => wireTurn(turn, model, reader))
      .filter(({ parts }) => parts.length > 0),
    toolConfig: wireToolConfig(call),
    generationConfig: {
      temperature: call.temperature ?? undefined,
      topP: call.topP ?? undefined,
      // Always sent, because the hold covers no more than this.
      maxOutputTokens: maxOutputTokens ?? undefined,
      stopSequences: call.stop ?? undefined,
      presencePenalty: call.presencePenalty ?? undefined,
      seed: call.seed ?? undefined,
      ...wireResponseFormat(call.responseFormat),
      thinkingConfig: wireThinking(call, upstream),
    },
  };
}

/**
 * Documented at ai.google.dev/gemini-api/docs/thinking: from Gemini 3 on, a level; before, a number of tokens. What the
 * model thought is shown on request only.
 */
function wireThinking(
  call: ChatCall,
  { reasoning, maxOutputTokens, showsReasoning }: Upstream,
): object | undefined {
  if (!reasoning) return undefined;
  const effort = effortFor(call, reasoning);
  if (effort === 'none') return { thinkingBudget: 0 };
  const budget = effort === null || reasoning.control === 'effort' ? null : budgetOf(effort, maxOutputTokens);
  const config = {
    ...(effort !== null && reasoning.control === 'effort' && { thinkingLevel: effort }),
    ...(budget !== null && { thinkingBudget: budget }),
    ...(showsReasoning === true && { includeThoughts: true }),
  };
  return Object.keys(config).length === 0 ? undefined : config;
}

export type MessageOf<Role> = Extract<ChatMessage, { role: Role }>;

/**
 * The conversation as the format sees it: consecutive messages of the model are one turn, and the results of its calls
 * are the next. System messages go elsewhere and separate nothing.
 */
export type Turn =
  | Readonly<{ kind: 'user'; message: MessageOf<'user'> }>
  | Readonly<{ kind: 'model'; messages: MessageOf<'assistant'>[]; calls: ToolCall[] }>
  | Readonly<{ kind: 'results'; messages: MessageOf<'tool'>[]; calls: readonly ToolCall[] }>;

export function turnsOf(messages: readonly ChatMessage[]): readonly Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (message.role === 'user') turns.push({ kind: 'user', message });
    if (message.role === 'assistant') {
      if (last?.kind !== 'model')
        turns.push({ kind: 'model', messages: [message], calls: [...toolCallsOf(message.items)] });
      else {
        last.messages.push(message);
        last.calls.push(...toolCallsOf(message.items));
      }
    }
    if (message.role === 'tool') {
      if (last?.kind === 'results') last.messages.push(message);
      else
        turns.push({ kind: 'results', messages: [message], calls: last?.kind === 'model' ? last.calls : [] });
    }
  }
  return turns;
}

function wireTurn(
  turn: Turn,
  model: string,
  reader: ResultReader,
): Readonly<{ role: string; parts: readonly object[] }> {
  switch (turn.kind) {
    case 'user': {
      const { content } = turn.message;
      return {
        role: 'user',
        parts: typeof content === 'string' ? [{ text: content }] : content.map(wirePart),
      };
    }
    case 'model':
      return { role: 'model', parts: modelParts(turn.messages, model) };
    case 'results':
      return { role: 'user', parts: resultParts(turn.messages, turn.calls, model, reader) };
  }
}

function wirePart(part: TextPart | ImagePart): object {
  if (part.type === 'text') return { text: part.text };
  const head = dataUrlHead(part.url);
  return { inlineData: { mimeType: head?.mimeType, data: part.url.slice(head?.length) } };
}

/** Documented for calls that another model made, for which there is no signature. */
const signatureThatSkipsTheCheck = 'skip_thought_signature_validator';

/**
 * From then on, a step of calls is rejected when the first has no signature (before, signatures were optional), and results
 * may hold images.
 */
const isGemini3OrLater = (model: string) => /^gemini-(?![12][.-])/.test(model);

function modelParts(messages: readonly MessageOf<'assistant'>[], model: string): object[] {
  let missing = isGemini3OrLater(model) ? signatureThatSkipsTheCheck : undefined;
  return messages.flatMap(({ items }) => {
    const parts = items.flatMap((item): object[] => {
      if (item.type === 'text') return item.text === '' ? [] : [{ text: item.text }];
      if (item.type === 'reasoning') return [];
      const { signature, upstreamId } = readCallId(item.id);
      const thoughtSignature = signature ?? missing;
      missing = undefined;
      const args = readArguments(item.arguments) ?? {};
      return [{ functionCall: { id: upstreamId ?? undefined, name: item.name, args }, thoughtSignature }];
    });
    // What a model thought before it was cut off says nothing to anyone else.
    const isUnsaid = items.some(({ type }) => type === 'reasoning');
    return parts.length === 0 && !isUnsaid ? [{ text: '' }] : parts;
  });
}

/**
 * In the order of the calls: where they have no ID from the vendor, results are matched by order alone. Images are part
 * of a result where the model takes them there, and otherwise follow all results.
 */
function resultParts(
  results: readonly MessageOf<'tool'>[],
  calls: readonly ToolCall[],
  model: string,
  reader: ResultReader,
): object[] {
  // From last to first, so that the first of several with the same ID wins.
  const positions = new Map(calls.map(({ id }, index) => [id, index] as const).toReversed());
  const holdsImages = isGemini3OrLater(model);
  const ordered = results
    .map((result) => ({ result, position: positions.get(result.toolCallId) ?? -1 }))
    .toSorted((a, b) => a.position - b.position);
  const responses = ordered.map(({ result, position }) => {
    const images = holdsImages ? imagesIn(result) : [];
    return {
      functionResponse: {
        id: readCallId(result.toolCallId).upstreamId ?? undefined,
        name: calls[position]?.name ?? result.name ?? '',
        response: wireResult(result, reader),
        parts: images.length === 0 ? undefined : images.map(wirePart),
      },
    };
  });
  const images = holdsImages ? [] : ordered.flatMap(({ result }) => imagesIn(result));
  return [...responses, ...images.map(wirePart)];
}

function imagesIn({ content }: ToolResult): readonly ImagePart[] {
  return typeof content === 'string' ? [] : content.filter((part) => part.type === 'image');
}

/** A result that is a JSON object is passed on as one; anything else is wrapped. */
function wireResult({ content, isError }: ToolResult, reader: ResultReader): object {
  const text = typeof content === 'string' ? content : textOfParts(content);
  return isError ? { error: text } : (reader.read(text) ?? { result: text });
}

/** `parametersJsonSchema` takes JSON Schema as it is; `parameters` would be another dialect of it. */
function wireTool({ name, description, parameters }: Tool): object {
  return { name, description: description ?? undefined, parametersJsonSchema: parameters ?? undefined };
}

/**
 * No single tool can be strict, but the mode VALIDATED holds every call to its schema, and so does ANY: see
 * ai.google.dev/gemini-api/docs/function-calling.
 */
function wireToolConfig(call: ChatCall): object | undefined {
  const { toolChoice } = call;
  const isStrict = hasStrictTool(call);
  if (toolChoice === null && !isStrict) return undefined;
  if (toolChoice === 'none') return { functionCallingConfig: { mode: 'NONE' } };
  if (toolChoice === 'required') return { functionCallingConfig: { mode: 'ANY' } };
  if (toolChoice === 'auto' || toolChoice === null)
    return { functionCallingConfig: { mode: isStrict ? 'VALIDATED' : 'AUTO' } };
  return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [toolChoice.functionName] } };
}

function wireResponseFormat(format: ResponseFormat | null): object {
  if (format === null || format.type === 'text') return {};
  const responseMimeType = 'application/json';
  if (format.type === 'json_object' || format.schema === null) return { responseMimeType };
  const { schema, description } = format;
  const isDescribed = description === null || Object.hasOwn(schema, 'description');
  return { responseMimeType, responseJsonSchema: isDescribed ? schema : { ...schema, description } };
}

/** What the public form of a tool call has no field for; it travels in the ID. */
export type Carried = Readonly<{ signature: string | null; upstreamId: string | null }>;

const nothingCarried: Carried = { signature: null, upstreamId: null };

const pack = ({ signature, upstreamId }: Carried) =>
  Buffer.from(JSON.stringify([signature, upstreamId])).toString('base64url');

/** The client sends the ID back with the conversation, so nothing has to be stored here. */
export function callId(requestId: string, index: number, carried: Carried): string {
  const id = `call_${requestId.replaceAll(/[^a-zA-Z0-9]/g, '')}_${index}`;
  return carried.signature === null && carried.upstreamId === null ? id : `${id}_${pack(carried)}`;
}

/** A packed ID is a list of two values. */
const packedLimits = { depth: 1, values: 2, keys: 0 };

/** Reads only what `callId` wrote: an ID from elsewhere carries nothing, whatever it looks like. */
export function readCallId(id: string): Carried {
  const packed = /^call_[a-zA-Z0-9]*_\d+_([a-zA-Z0-9_-]+)$/.exec(id)?.[1];
  if (packed === undefined) return nothingCarried;
  try {
    const { value } = parseBoundedJson(Buffer.from(packed, 'base64url').toString(), packedLimits);
    const [signature, upstreamId] = value as unknown[];
    const carried = { signature: textOrNull(signature), upstreamId: textOrNull(upstreamId) };
    return pack(carried) === packed ? carried : nothingCarried;
  } catch {
    return nothingCarried;
  }
}

const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null);

export function dataUrlHead(url: string): Readonly<{ mimeType: string; length: number }> | null {
  const head = /^data:([a-z0-9.+/-]+);base64,/i.exec(url.slice(0, 100));
  return head === null ? null : { mimeType: (head[1] ?? '').toLowerCase(), length: head[0].length };
}
