/**
 * What is refused by name, whoever would serve the request: what has a price or needs a state that this gateway does not
 * have. Everything else that is not known here is passed on to a provider of the same format.
 */
import { ApiError } from '../../errors.ts';
import type { Unsupported } from '../../providers/upstream.ts';
import { extraInput, lackOf, storedFile } from './findings.ts';
import type { WireBlock, WireTool } from './schema.ts';

type Fields = Readonly<Record<string, unknown>>;

export const versions = ['2023-06-01', '2026-10-21'] as const;
export type Version = (typeof versions)[number];

export function readVersion(headers: Headers): Version {
  const asked = headers.get('anthropic-version');
  const version = versions.find((known) => known === asked);
  if (version !== undefined) return version;
  const known = `send ${versions.join(' or ')}.`;
  if (asked === null)
    throw new ApiError('missing_required_parameter', {
      param: 'anthropic-version',
      message: `anthropic-version: header is required: ${known}`,
      docs: 'messages#headers',
    });
  throw new ApiError('invalid_parameter', {
    param: 'anthropic-version',
    message: `anthropic-version: "${asked.slice(0, 40)}" is not a valid version: ${known}`,
    docs: 'messages#headers',
  });
}

/** Features that change what a request costs. Others mean nothing here, or are passed on. */
const pricedBetas = /^(?:context-1m|fast-mode)-/i;
const maxBetas = 100;

/** The features that the client asks for; null when it names none. */
export function readBetas(headers: Headers): string | null {
  const header = headers.get('anthropic-beta');
  const betas = header?.split(',').map((beta) => beta.trim()) ?? [];
  const named = betas.filter((beta) => beta !== '');
  const isSound = named.length <= maxBetas && named.every((beta) => /^[\w.-]{1,100}$/.test(beta));
  const priced = named.filter((beta) => pricedBetas.test(beta));
  if (isSound && priced.length === 0) return named.length === 0 ? null : named.join(',');
  const problem = isSound
    ? `Unexpected value(s) ${priced.map((beta) => `\`${beta}\``).join(', ')} for the \`anthropic-beta\` header. ` +
      'It has a price of its own, which this gateway does not offer.'
    : `The \`anthropic-beta\` header must be a list of up to ${maxBetas} names.`;
  throw new ApiError('unsupported_parameter', {
    param: 'anthropic-beta',
    message: problem,
    docs: 'messages#headers',
  });
}

const hasPrice = `${extraInput}: it has a price of its own, which this gateway does not offer. Leave it out.`;
const needsState = `${extraInput}: this gateway stores nothing that it could refer to. Leave it out.`;

const otherLimit = `${extraInput}: only max_tokens says how long an answer may get. Leave it out.`;

/** What these fields may be besides null. */
const refusedFields: ReadonlyMap<
  string,
  Readonly<{ allowed: readonly unknown[]; problem: string }>
> = new Map([
  ['service_tier', { allowed: ['auto', 'standard_only'], problem: hasPrice }],
  ['speed', { allowed: ['standard'], problem: hasPrice }],
  ['inference_geo', { allowed: [], problem: hasPrice }],
  ['container', { allowed: [], problem: needsState }],
  ['mcp_servers', { allowed: [], problem: needsState }],
  ['fallbacks', { allowed: [], problem: hasPrice }],
  ['diagnostics', { allowed: [], problem: needsState }],
  ['user_profile_id', { allowed: [], problem: needsState }],
  ['workspace_id', { allowed: [], problem: needsState }],
  // Of other formats. Servers that speak several may obey them, and write more than is held for.
  ['n', { allowed: [1], problem: otherLimit }],
  ['best_of', { allowed: [1], problem: otherLimit }],
  ['min_tokens', { allowed: [], problem: otherLimit }],
  ['max_output_tokens', { allowed: [], problem: otherLimit }],
  ['max_completion_tokens', { allowed: [], problem: otherLimit }],
  ['max_new_tokens', { allowed: [], problem: otherLimit }],
]);

export function refusedField(body: Fields): Unsupported | null {
  for (const [name, { allowed, problem }] of refusedFields) {
    const value = body[name];
    if (value == null || allowed.includes(value) || (Array.isArray(value) && value.length === 0)) continue;
    return lackOf([name], problem);
  }
  return null;
}

/** These make the input shorter, and cost nothing. */
const freeEdits = /^clear_(?:thinking|tool_uses)_\d{8}$/;

/** Others, such as compaction, run a model once more, which the usage of the answer does not include. */
export function refusedEdit({ context_management: management }: Fields): Unsupported | null {
  const { edits } = (management ?? {}) as Fields;
  if (!Array.isArray(edits)) return null;
  const isFree = edits.every((edit: unknown) => {
    const { type } = (edit ?? {}) as Fields;
    return typeof type === 'string' && freeEdits.test(type);
  });
  // Clients leave out the whole field when they are told that it is not known.
  return isFree ? null : lackOf(['context_management'], hasPrice);
}

/** Fields of which the newer version says that they are not known. */
const olderFields = ['temperature', 'top_p', 'top_k'];

export function newerVersionRefuses(body: Fields, version: Version): Unsupported | null {
  if (version === '2023-06-01') return null;
  const name = olderFields.find((field) => body[field] !== undefined);
  return name === undefined
    ? null
    : lackOf(
        [name],
        `${extraInput} in the version ${version}. Send anthropic-version: 2023-06-01 to use it.`,
      );
}

/** Tools whose calls the client runs, though the vendor describes them. All other types run at the vendor's. */
const clientTools = /^(?:bash|text_editor|memory|computer|browser)(?:_toolset)?_\d{8}$/;

export function isCustom({ type }: WireTool): boolean {
  return type == null || type === 'custom';
}

export function refusedTool(tool: WireTool, index: number): Unsupported | null {
  if (isCustom(tool) || clientTools.test(tool.type ?? '')) return null;
  return lackOf(
    ['tools', index, 'type'],
    'Tools that run at a provider have a price of their own, which this gateway does not offer. Declare a tool of your own.',
  );
}

const storedBlocks = /^(?:server_tool_use|container_upload|mcp_tool_use|compaction|.+_tool_result)$/;

/** Blocks that only tools of the vendor make, and those that refer to something stored there. */
export function refusedBlock(block: WireBlock, path: readonly (string | number)[]): Unsupported | null {
  if (storedBlocks.test(block.type))
    return lackOf([...path, 'type'], 'Blocks of tools that run at a provider are not supported here.');
  const { source } = block as Fields;
  const isFile = typeof source === 'object' && source !== null && (source as Fields).type === 'file';
  return isFile ? lackOf([...path, 'source'], storedFile) : null;
}
