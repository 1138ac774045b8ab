/** Turns unknown JSON into a ChatRequest, or an error that names the parameter. */
import { z } from 'zod';
import type { Incoming } from '../../inference/workload.ts';
import type { ChatCall, JsonObject, Original, ResponseFormat } from '../../providers/chat.ts';
import { attributionOfResponses, type ResponsesIdentity } from '../attribution.ts';
import type { ChatRequest } from '../request.ts';
import type { Signatures } from '../signatures.ts';
import { isObject } from '../wire-fields.ts';
import { readInput } from './items.ts';
import { Reading, refused } from './reading.ts';
import { checkFields, includesReasoning, refusedFields } from './refusals.ts';
import { repeatedFields } from './repeated-fields.ts';
import { responsesRequestSchema, type WireRequest } from './schema.ts';
import { type ReadTools, readTools, type ToolNames } from './tools.ts';

/** How to present the answer. */
export type AskedOfResponses = Readonly<{
  /** The fields of the response that repeat the request. */
  repeated: JsonObject;
  names: ToolNames;
  /** Whether the client gets what the model shows of its reasoning. */
  showsReasoning: boolean;
  /** Null unless the client asked for reasoning that it can send back. */
  seal: Original['seal'] | null;
}>;

/** Compiled, a valid body is checked in a fraction of the time. */
const schema = z.compile(responsesRequestSchema, { strict: true });
const knownFields: ReadonlySet<string> = new Set([
  ...Object.keys(responsesRequestSchema.shape),
  ...refusedFields,
]);
const textFields: ReadonlySet<string> = new Set(['format', 'verbosity']);
const reasoningFields: ReadonlySet<string> = new Set([
  'effort',
  'summary',
  'generate_summary',
  'context',
  'mode',
]);

export function parseResponses(signatures: Signatures) {
  return (body: unknown, { accountId, headers }: Incoming): ChatRequest<AskedOfResponses> => {
    const reading = new Reading(isObject(body) ? body : {});
    if (isObject(body)) checkFields(body);
    const result = schema.safeParse(body);
    if (!result.success) throw reading.problem(result.error.issues, []);
    const wire = result.data;
    const isIncluded = includesReasoning(wire.include);
    if (wire.reasoning?.mode === 'pro')
      throw refused(['reasoning', 'mode'], 'The mode "pro" has no price here: leave reasoning.mode out.');
    const tools = readTools(reading, wire);
    const scope = { accountId, model: wire.model };
    const { open, opened } = signatures.openerFor(scope);
    const messages = readInput(reading, wire.input, wire.instructions ?? null, open);
    keepUnknownFields(reading, body as JsonObject);
    const seal = signatures.sealFor(scope);
    const summary = wire.reasoning?.summary ?? wire.reasoning?.generate_summary ?? null;
    return {
      model: wire.model,
      stream: wire.stream === true,
      call: callOf(wire, messages, tools),
      outputLimit: wire.max_output_tokens ?? null,
      original: {
        format: 'responses',
        body: passedOnBody(body as JsonObject, tools),
        headers: {},
        model: wire.model,
        untranslatable: reading.untranslatable,
        signatures: opened,
        seal,
      },
      furtherInput: reading.furtherInput,
      attribution: attributionOfResponses(identityIn(wire), headers),
      asked: {
        repeated: repeatedFields(wire),
        names: tools.names,
        showsReasoning: isIncluded || summary !== null,
        seal: isIncluded ? seal : null,
      },
    };
  };
}

function identityIn(wire: WireRequest): ResponsesIdentity {
  return {
    safetyIdentifier: wire.safety_identifier ?? null,
    user: wire.user ?? null,
    metadata: Object.entries(wire.metadata ?? {}),
    promptCacheKey: wire.prompt_cache_key ?? null,
  };
}

/** They come after what is wrong with known ones, and only other formats refuse them. */
function keepUnknownFields(reading: Reading, body: JsonObject): void {
  reading.keepUnknown(body, knownFields, []);
  if (isObject(body.text)) reading.keepUnknown(body.text, textFields, ['text']);
  if (isObject(body.reasoning)) reading.keepUnknown(body.reasoning, reasoningFields, ['reasoning']);
}

function callOf(
  wire: WireRequest,
  messages: ChatCall['messages'],
  { tools, choice }: Pick<ReadTools, 'tools' | 'choice'>,
): ChatCall {
  return {
    messages,
    temperature: wire.temperature ?? null,
    maxTokens: null,
    topP: wire.top_p ?? null,
    stop: null,
    presencePenalty: null,
    tools,
    toolChoice: choice,
    parallelToolCalls: tools === null ? null : (wire.parallel_tool_calls ?? null),
    responseFormat: formatOf(wire),
    seed: null,
    effort: wire.reasoning?.effort ?? null,
    verbosity: wire.text?.verbosity ?? null,
  };
}

function formatOf({ text }: WireRequest): ResponseFormat | null {
  const format = text?.format ?? null;
  if (format === null || format.type === 'text') return null;
  if (format.type === 'json_object') return format;
  const { name, description = null, schema: jsonSchema, strict = null } = format;
  return { type: 'json_schema', name, description, schema: jsonSchema, strict };
}

/** Without what the client tells its vendor about itself, and without tools that are never offered to a model. */
function passedOnBody(body: JsonObject, { passedOn }: Pick<ReadTools, 'passedOn'>): JsonObject {
  if (passedOn === null && !('client_metadata' in body)) return body;
  const { client_metadata: _, ...rest } = body;
  return passedOn === null ? rest : { ...rest, tools: passedOn };
}
