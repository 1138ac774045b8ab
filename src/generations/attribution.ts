/** Whom Generations were for: how it is read and shown, and what a list can be filtered by. */
import type { SQL } from 'bun';
import { invalidQuery, type Query } from '../http/query.ts';
import { isLabel, maxEndUserCharacters, maxSessionCharacters, readTag } from '../lib/labels.ts';

type Kind = 'end_user' | 'session' | 'tag';
export type Label = readonly [kind: Kind, label: string];

/** As a query returns it; null when nothing is known. */
export type StoredAttribution = readonly Label[] | null;

/** The column `attribution` of a query whose rows are called `page` or `generation`. */
export function attributionColumn(sql: SQL, rows: 'page' | 'generation') {
  const id = rows === 'page' ? sql`page.id` : sql`generation.id`;
  return sql`(
    select jsonb_agg(jsonb_build_array(kind, label) order by kind, label) from generation_attributions
    where generation_id = ${id}) as attribution`;
}

export type PresentedAttribution = {
  end_user: string | null;
  session: string | null;
  tags: Record<string, string>;
};

export function presentAttribution(stored: readonly Label[]): PresentedAttribution {
  const one = (wanted: Kind) => stored.find(([kind]) => kind === wanted)?.[1] ?? null;
  const tags = stored.flatMap(([kind, label]) => (kind === 'tag' ? [splitTag(label)] : []));
  return { end_user: one('end_user'), session: one('session'), tags: Object.fromEntries(tags) };
}

function splitTag(label: string): [name: string, value: string] {
  const end = label.indexOf('=');
  return [label.slice(0, end), label.slice(end + 1)];
}

export const attributionParameters = ['end_user', 'tag', 'session'] as const;

/** What a list is filtered by, the rarest first. Empty for a list of everything. */
export function parseLabels(query: Query): readonly Label[] {
  const session = query.get('session');
  const endUser = query.get('end_user');
  const tag = query.get('tag');
  if (session !== null && !isLabel(session, maxSessionCharacters))
    throw invalidQuery('session', 'the ID of a session');
  if (endUser !== null && !isLabel(endUser, maxEndUserCharacters))
    throw invalidQuery('end_user', `a text of at most ${maxEndUserCharacters} printable characters`);
  const pair = tag === null ? null : readTag(tag);
  if (tag !== null && pair === null) throw invalidQuery('tag', 'name=value');
  const labels: Label[] = [];
  if (session !== null) labels.push(['session', session]);
  if (endUser !== null) labels.push(['end_user', endUser]);
  if (pair !== null) labels.push(['tag', pair.join('=')]);
  return labels;
}
