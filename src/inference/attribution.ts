/**
 * Whom a request is for: an end user, tags and a session. The headers are the same for every endpoint; a format may have
 * fields of its own for it, which the headers override.
 */
import { createHmac } from 'node:crypto';
import { ApiError } from '../errors.ts';
import type { Attribution, GenerationFacts } from '../ledger/operations.ts';
import {
  isLabel,
  maxEndUserCharacters,
  maxTagNameCharacters,
  maxTags,
  maxTagValueCharacters,
  readTag,
  type Tag,
} from '../lib/labels.ts';

const endUserHeader = 'x-end-user';
const tagsHeader = 'x-tags';

/** `own` is what the format's own fields say. Null when nothing is said at all. Throws a 400 that names the header. */
export function readAttribution(headers: Headers, own: Attribution | null): Attribution | null {
  const endUser = headers.get(endUserHeader);
  const tags = headers.get(tagsHeader);
  // Empty counts as not given, because a proxy may add a header to every request.
  if (!endUser && !tags) return own;
  return {
    endUser: endUser ? readEndUser(endUser) : (own?.endUser ?? null),
    session: own?.session ?? null,
    tags: tags ? mergeTags(readTags(tags), own?.tags ?? []) : (own?.tags ?? []),
  };
}

function readEndUser(header: string): string {
  const text = decoded(header);
  if (text !== null && isLabel(text, maxEndUserCharacters)) return text;
  throw new ApiError('invalid_parameter', {
    param: endUserHeader,
    message: `${endUserHeader} must have 1 to ${maxEndUserCharacters} printable characters, in UTF-8.`,
    docs: 'attribution#headers',
  });
}

function readTags(header: string): Tag[] {
  const pairs = decoded(header)?.split(',') ?? [];
  const tags = pairs.length > maxTags ? [] : pairs.map(readTag).filter((tag) => tag !== null);
  const isWhole = tags.length > 0 && tags.length === pairs.length;
  if (isWhole && new Set(tags.map(([name]) => name)).size === tags.length) return tags;
  throw new ApiError('invalid_parameter', {
    param: tagsHeader,
    message:
      `${tagsHeader} must be name=value pairs such as team=search, separated by commas: at most ${maxTags}, each name ` +
      `once, with up to ${maxTagNameCharacters} characters in a name and ${maxTagValueCharacters} in a value.`,
    docs: 'attribution#headers',
  });
}

/** The first ones win: by their names, and where there are too many. */
export function mergeTags(first: readonly Tag[], second: readonly Tag[]): Tag[] {
  const merged = new Map<string, string>(first);
  for (const [name, value] of second) if (!merged.has(name)) merged.set(name, value);
  return [...merged].slice(0, maxTags);
}

/** Header values arrive as bytes. Null when they are not UTF-8. */
function decoded(header: string): string | null {
  if (isAscii.test(header)) return header;
  try {
    return utf8.decode(Buffer.from(header, 'latin1'));
  } catch {
    return null;
  }
}

const isAscii = /^[\x20-\x7e]*$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Names the origin of a request to a provider. */
export type IdentifyUpstream = (generation: Pick<GenerationFacts, 'accountId' | 'attribution'>) => string;

/**
 * A provider that sees who is behind its calls can block one abuser instead of everybody. It gets a keyed hash of the account
 * and its end user, or of the account alone where none is named: always the same, and meaningless to anyone else.
 */
export function identifyWith(key: Uint8Array): IdentifyUpstream {
  return ({ accountId, attribution }) =>
    createHmac('sha256', key)
      .update(JSON.stringify([accountId, attribution?.endUser ?? null]))
      .digest('base64url');
}
