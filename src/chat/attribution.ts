/**
 * Whom a chat request is for, as the fields and headers say that formats and their clients have for it. Clients choose these
 * without knowing our limits, so what does not fit is left out, never refused.
 */
import { z } from 'zod';
import { parseBoundedJson } from '../json/bounded.ts';
import type { Attribution } from '../ledger/operations.ts';
import {
  isLabel,
  maxEndUserCharacters,
  maxSessionCharacters,
  maxTags,
  type Tag,
  tagOf,
} from '../lib/labels.ts';

/** `user` is OpenAI's older field. */
export function attributionOfUser(user: string | null): Attribution | null {
  return attributionOf(user, null, []);
}

/** Of the Messages format: `metadata.user_id`, and the session of Claude Code. */
export function attributionOfMessages(userId: string | null, headers: Headers): Attribution | null {
  const { user, session } = userId === null ? unknownUser : readUserId(userId);
  return attributionOf(user, sessionIn(headers, ['x-claude-code-session-id']) ?? session, []);
}

/** The fields of a request in the Responses format. `metadata` are its pairs. */
export type ResponsesIdentity = Readonly<{
  safetyIdentifier: string | null;
  user: string | null;
  metadata: readonly (readonly [name: string, value: string])[];
  promptCacheKey: string | null;
}>;

/** Of the Responses format, and the session of Codex, which also sends its thread as the cache key. */
export function attributionOfResponses(
  { safetyIdentifier, user, metadata, promptCacheKey }: ResponsesIdentity,
  headers: Headers,
): Attribution | null {
  const tags = metadata.map(([name, value]) => tagOf(name, value)).filter((tag) => tag !== null);
  const session = sessionIn(headers, ['session-id', 'thread-id']) ?? promptCacheKey;
  return attributionOf(labelled(safetyIdentifier, maxEndUserCharacters) ?? user, session, tags);
}

function attributionOf(
  user: string | null,
  session: string | null,
  tags: readonly Tag[],
): Attribution | null {
  const known = {
    endUser: labelled(user, maxEndUserCharacters),
    session: labelled(session, maxSessionCharacters),
    tags: [...new Map(tags)].slice(0, maxTags),
  };
  return known.endUser === null && known.session === null && known.tags.length === 0 ? null : known;
}

function labelled(text: string | null, maxCharacters: number): string | null {
  const trimmed = text?.trim() ?? '';
  return isLabel(trimmed, maxCharacters) ? trimmed : null;
}

/** The first of these headers that has one. */
function sessionIn(headers: Headers, names: readonly string[]): string | null {
  for (const name of names) {
    const session = labelled(headers.get(name), maxSessionCharacters);
    if (session !== null) return session;
  }
  return null;
}

type UserAndSession = Readonly<{ user: string | null; session: string | null }>;

const unknownUser: UserAndSession = { user: null, session: null };
/** Longer than what Claude Code sends. Nothing longer is searched, because a client may send megabytes. */
const maxPackedCharacters = 1_000;

/**
 * Claude Code packs three things into one text: the device, the account if somebody signed in, and the session. Taken as
 * a whole, every session would be another end user.
 */
function readUserId(userId: string): UserAndSession {
  if (userId.length > maxPackedCharacters) return unknownUser;
  const former = /^(user_.+)_session_([\w-]+)$/.exec(userId);
  if (former !== null) return { user: former[1] ?? null, session: former[2] ?? null };
  const packed = userId.startsWith('{') ? parsed(userId) : null;
  if (packed === null) return { user: userId, session: null };
  const { account_uuid: account, device_id: device, session_id: session = null } = packed;
  return { user: account ?? device ?? (session === null ? userId : null), session };
}

function parsed(text: string): z.output<typeof packedSchema> | null {
  try {
    return packedSchema.safeParse(parseBoundedJson(text, packedExtent).value).data ?? null;
  } catch {
    return null;
  }
}

const packedExtent = { depth: 2, values: 20, keys: 20 };
const part = z
  .string()
  .transform((text) => text || null)
  .nullish();
const packedSchema = z.object({ account_uuid: part, device_id: part, session_id: part });
