/** Turns unknown JSON into a ChatRequest, or an error that names the parameter. */
import type { z } from 'zod';
import type { Incoming } from '../../inference/workload.ts';
import { firstProblem, toApiError } from '../../json/problem.ts';
import type {
  ChatCall,
  Effort,
  JsonObject,
  ResponseFormat,
  Signature,
  Tool,
  ToolChoice,
} from '../../providers/chat.ts';
import { attributionOfMessages } from '../attribution.ts';
import type { ChatRequest } from '../request.ts';
import type { Signatures } from '../signatures.ts';
import { ConversationReader } from './conversation.ts';
import { Findings, invalid, refused } from './findings.ts';
import {
  isCustom,
  newerVersionRefuses,
  readBetas,
  readVersion,
  refusedEdit,
  refusedField,
  refusedTool,
  type Version,
} from './refusals.ts';
import {
  messagesRequestSchema,
  type WireCountRequest,
  type WireMessagesRequest,
  type WireTool,
} from './schema.ts';

/** How much of a model's thinking the client sees. With `signature` it gets what it has to send back, and no text. */
export type ShownThinking = 'nothing' | 'signature' | 'text';

export type AskedOfMessages = Readonly<{
  thinking: ShownThinking;
  /** What the client sends back with the thinking. */
  seal: (signature: Signature) => string;
}>;

export function parseMessages(
  body: unknown,
  incoming: Incoming,
  signatures: Signatures,
): ChatRequest<AskedOfMessages> {
  const version = readVersion(incoming.headers);
  const betas = readBetas(incoming.headers);
  const wire = readShape(messagesRequestSchema, body);
  const refusal = refusedField(wire) ?? refusedEdit(wire) ?? newerVersionRefuses(wire, version);
  if (refusal !== null) throw refused(refusal);
  const findings = new Findings();
  findings.unknownFields(wire, knownFields, []);
  if (wire.top_k != null) findings.lack(['top_k'], 'This model does not support top_k: leave it out.');
  if ((wire.stop_sequences?.length ?? 0) > maxStops)
    findings.lack(['stop_sequences'], `This model takes at most ${maxStops} stop sequences.`);
  const scope = { accountId: incoming.accountId, model: wire.model };
  const seal = signatures.sealFor(scope);
  const { open, opened } = signatures.openerFor(scope);
  const call = toCall(wire, findings, version, open);
  return {
    model: wire.model,
    stream: wire.stream === true,
    call,
    outputLimit: wire.max_tokens,
    original: {
      format: 'messages',
      body: body as JsonObject,
      headers: betas === null ? {} : { 'anthropic-beta': betas },
      model: wire.model,
      untranslatable: findings.untranslatable,
      signatures: opened,
      seal,
      cacheMarks: findings.cacheMarks,
    },
    furtherInput: findings.furtherInput,
    attribution: attributionOfMessages(wire.metadata?.user_id ?? null, incoming.headers),
    asked: { thinking: shownThinking(wire.thinking), seal },
  };
}

/** The same for a request whose tokens are only counted: it need not say how long the answer may get. */
export function parseCount(body: unknown, incoming: Incoming, signatures: Signatures): ChatRequest<unknown> {
  const request = parseMessages({ ...(body as object), max_tokens: 1 }, incoming, signatures);
  const { original } = request;
  return { ...request, original: original === null ? null : { ...original, body: body as JsonObject } };
}

function readShape<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const problem = firstProblem(result.error.issues, body);
  const docs = problem.path[0] === 'messages' ? 'messages#messages' : 'messages#fields';
  throw toApiError({ ...problem, docs });
}

/** Those that some code here reads, and those that make no difference to a provider of another format. */
const knownFields: ReadonlySet<string> = new Set([
  ...Object.keys(messagesRequestSchema.shape),
  'service_tier',
  'speed',
  'inference_geo',
  'container',
  'mcp_servers',
  'fallbacks',
  'diagnostics',
  'user_profile_id',
  'workspace_id',
  'context_management',
  'safeguards',
]);
const maxStops = 4;

function toCall(
  wire: WireMessagesRequest,
  findings: Findings,
  version: Version,
  open: (sealed: string) => Signature | null,
): ChatCall {
  const reader = new ConversationReader(findings, version, open);
  reader.readSystem(wire.system);
  reader.readMessages(wire.messages);
  findings.mark(wire.cache_control);
  readContextManagement((wire as JsonObject).context_management, findings);
  const tools = toTools(wire.tools, findings);
  const { choice, isSingle } = toToolChoice(wire);
  return {
    messages: reader.messages,
    temperature: wire.temperature ?? null,
    maxTokens: null,
    topP: wire.top_p ?? null,
    stop: wire.stop_sequences == null || wire.stop_sequences.length === 0 ? null : wire.stop_sequences,
    presencePenalty: null,
    tools,
    toolChoice: tools === null ? null : choice,
    parallelToolCalls: tools !== null && isSingle ? false : null,
    responseFormat: toFormat(wire.output_config),
    seed: null,
    effort: toEffort(wire),
    verbosity: null,
  };
}

/** Keeping all thinking is what happens anyway. */
function readContextManagement(value: unknown, findings: Findings): void {
  if (value == null) return;
  const { edits, ...others } = value as { edits?: unknown };
  const isIdle =
    Object.keys(others).length === 0 &&
    (edits == null || (Array.isArray(edits) && edits.every((edit) => keepsAll(edit))));
  if (!isIdle) findings.lack(['context_management']);
}

function keepsAll(edit: unknown): boolean {
  if (typeof edit !== 'object' || edit === null) return false;
  const { type, keep } = edit as { type?: unknown; keep?: unknown };
  return type === 'clear_thinking_20251015' && keep === 'all';
}

const knownToolFields: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
  'defer_loading',
  'eager_input_streaming',
  'input_examples',
  'allowed_callers',
]);
/** What the vendor's own description of one of its tools takes in the prompt, generously. */
const vendorToolTokens = 4_096;
/** The longest name that all formats take. */
const maxName = 64;

function toTools(tools: WireCountRequest['tools'], findings: Findings): readonly Tool[] | null {
  if (tools == null || tools.length === 0) return null;
  const names = new Set<string>();
  return tools.flatMap((tool, index) => {
    const refusal = refusedTool(tool, index);
    if (refusal !== null) throw refused(refusal);
    if (names.has(tool.name)) throw invalid(['tools', index, 'name'], 'Tool names must be unique.');
    names.add(tool.name);
    findings.mark(tool.cache_control);
    return toTool(tool, index, findings);
  });
}

function toTool(tool: WireTool, index: number, findings: Findings): readonly Tool[] {
  const path = ['tools', index];
  if (!isCustom(tool)) {
    findings.lack([...path, 'type'], `This model has no tool of the type ${tool.type}: declare your own.`);
    findings.countBlocks(tool, path, vendorToolTokens);
    return [];
  }
  if (tool.name.length > maxName)
    findings.lack([...path, 'name'], `This model takes names of tools of up to ${maxName} characters.`);
  findings.unknownFields(tool, knownToolFields, [...path, 'custom']);
  findings.count((tool as JsonObject).input_examples);
  const { name, description = null, input_schema: parameters = null, strict = null } = tool;
  return [{ name, description, parameters, strict }];
}

function toToolChoice({ tools, tool_choice: wire }: WireMessagesRequest): {
  choice: ToolChoice | null;
  isSingle: boolean;
} {
  if (wire == null) return { choice: null, isSingle: false };
  const { type, name, disable_parallel_tool_use: isSingle } = wire as JsonObject & { type: string };
  const choice = choiceOf(type, name, tools ?? []);
  const isNamed = typeof choice === 'object';
  if (type === 'tool' && !(tools ?? []).some((tool) => tool.name === name))
    throw invalid(['tool_choice', 'name'], 'This tool is not declared in tools.');
  // A named tool is called once anyway, and not every format can say so.
  return { choice, isSingle: isSingle === true && !isNamed };
}

/** Any of one tool is that tool. */
function choiceOf(type: string, name: unknown, [first, ...others]: readonly WireTool[]): ToolChoice {
  if (type === 'tool') return { functionName: name as string };
  if (type === 'any') return first && others.length === 0 ? { functionName: first.name } : 'required';
  return type === 'none' ? 'none' : 'auto';
}

/** This format has no name for a schema. */
function toFormat(config: WireCountRequest['output_config']): ResponseFormat | null {
  if (config?.format == null) return null;
  const { schema } = config.format;
  return { type: 'json_schema', name: 'response', description: null, schema, strict: true };
}

/** The budgets up to which each effort is the nearest. */
const budgets: readonly (readonly [number, Effort])[] = [
  [4_096, 'low'],
  [16_384, 'medium'],
  [32_768, 'high'],
  [Number.POSITIVE_INFINITY, 'xhigh'],
];

function toEffort({ output_config: config, thinking }: WireMessagesRequest): Effort | null {
  if (thinking?.type === 'disabled') return 'none';
  if (config?.effort != null) return config.effort;
  if (thinking?.type !== 'enabled') return null;
  const budget = (thinking as JsonObject).budget_tokens as number;
  return budgets.find(([limit]) => budget <= limit)?.[1] ?? null;
}

/** Only those who ask for it see any. */
function shownThinking(thinking: WireCountRequest['thinking']): ShownThinking {
  if (thinking == null || thinking.type === 'disabled') return 'nothing';
  return thinking.display === 'omitted' ? 'signature' : 'text';
}
