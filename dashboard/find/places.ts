/** What the box lists for a text: pages, a request, and what the gateway found, each with where it leads. */
import type { AccountFindings, FoundLabel, OperatorFindings } from '../../src/console/find-contract.ts';
import { type Destination, docsPath } from '../layout/destinations.ts';

/** A place to go to. `detail` tells it from others with the same name. */
export type Place = Readonly<{ group: string; label: string; detail: string; href: string }>;

const requestPattern = /req_([0-9a-f]{32})(?![0-9a-f])/i;
const uuidPattern = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/** A request ID anywhere in a pasted line, or the same as a UUID. */
export function requestIdIn(text: string): string | null {
  const [, named] = requestPattern.exec(text) ?? [];
  if (named !== undefined) return `req_${named.toLowerCase()}`;
  const only = text.trim();
  return uuidPattern.test(only) ? `req_${only.replaceAll('-', '').toLowerCase()}` : null;
}

/** Anywhere in what was pasted, such as a header or a line of a settings file. */
const keyPattern = /(?<![\w-])(?:svc_sk_|sk-|tg_admin_)[\w-]{8,}/;
const shownCharacters = 4;

/** What the gateway is asked for. Of a whole key, only the end is sent, by which lists name it: secrets are never in addresses. */
export function questionFor(text: string): string {
  const [key] = keyPattern.exec(text) ?? [];
  return key === undefined ? text.trim().slice(0, maxQuestion) : `…${key.slice(-shownCharacters)}`;
}

const maxQuestion = 200;

/** Every word has to occur in the name of a page. */
export function pagesFor(text: string, pages: readonly Destination[], group: string): Place[] {
  const words = text.toLowerCase().split(/\s+/);
  return pages
    .filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
    .map(({ label, to }) => ({ group, label, detail: '', href: to }));
}

/** Pages of an account name it in their address, or they would be those of the account that was selected last. */
export function inAccount(place: Place, account: string): Place {
  const [path = '', search] = place.href.split('?');
  const href = address(path, { ...Object.fromEntries(new URLSearchParams(search)), account });
  return isOutside(path) ? place : { ...place, href };
}

export function requestPlace(id: string, isOperator: boolean): Place {
  const href = `${isOperator ? '/operator' : ''}/requests/${id}`;
  return { group: 'Request', label: id, detail: 'Open this request', href };
}

const address = (path: string, search: Readonly<Record<string, string>>) =>
  `${path}?${new URLSearchParams(search)}`;

/** The range in which requests are listed, as their list has it in its address. */
type Times = Readonly<{ range: string } | { from: string; to: string }>;

const usualTimes: Times = { range: '30d' };
const ranges = new Set<unknown>(['15m', '1h', '24h', '7d', '30d']);
const isTime = (value: unknown): value is string => typeof value === 'string' && value.includes('T');

/** Whoever looks at a range of requests goes on with it. Other pages have ranges of whole days. */
export function timesIn({ range, from, to }: Readonly<Record<string, unknown>>): Times {
  if (typeof range === 'string' && ranges.has(range)) return { range };
  return isTime(from) && isTime(to) ? { from, to } : usualTimes;
}

export function placesInAccount(found: AccountFindings, times: Times = usualTimes): Place[] {
  return [
    ...found.keys.map(({ id, name, hint, is_in_force: isInForce }) => ({
      group: 'Keys',
      label: name,
      detail: isInForce ? hint : `${hint}, no longer in force`,
      href: `/keys/${id}`,
    })),
    ...found.models.map(({ id, name }) => ({
      group: 'Models',
      label: name,
      detail: id,
      href: `/models/${encodeURIComponent(id)}`,
    })),
    ...found.end_users.map((label) => labelPlace('end_user', label, '/requests', times)),
    ...found.sessions.map((label) => labelPlace('session', label, '/requests', times)),
  ];
}

export function placesAnywhere(found: OperatorFindings, times: Times = usualTimes): Place[] {
  return [
    ...found.accounts.map(({ id, name, external_id: externalId }) => ({
      group: 'Accounts',
      label: name,
      detail: externalId ?? `${id.slice(0, 8)}…${id.slice(-4)}`,
      href: `/operator/accounts/${id}`,
    })),
    ...found.people.map(({ email, name }) => ({
      group: 'People',
      label: email,
      detail: name,
      href: address('/operator/users', { search: email }),
    })),
    ...found.providers.map(({ id, name }) => ({
      group: 'Providers',
      label: name,
      detail: id,
      href: `/operator/providers/${encodeURIComponent(id)}`,
    })),
    ...found.keys.map(({ id, name, hint, is_in_force: isInForce, account }) => ({
      group: 'Keys',
      label: `${name} · ${account.name}`,
      detail: isInForce ? hint : `${hint}, no longer in force`,
      href: address(`/keys/${id}`, { account: account.id }),
    })),
    ...found.models.map(({ id, name }) => ({
      group: 'Catalogue',
      label: name,
      detail: id,
      href: address('/operator/catalog', { search: id }),
    })),
    ...placesOfLabels('end_user', found.end_users, times),
    ...placesOfLabels('session', found.sessions, times),
  ];
}

type LabelKind = 'end_user' | 'session';

const labelGroups: Readonly<Record<LabelKind, string>> = { end_user: 'End users', session: 'Sessions' };

function labelPlace(kind: LabelKind, label: string, path: string, times: Times): Place {
  const href = address(path, { [kind]: label, ...times });
  return { group: labelGroups[kind], label, detail: 'Its requests', href };
}

const allRequests = '/operator/requests';

/** Several accounts may have an end user of the same name. */
function placesOfLabels(kind: LabelKind, found: readonly FoundLabel[], times: Times): Place[] {
  return [...Map.groupBy(found, ({ label }) => label)].flatMap(([label, owned]) => {
    const place = labelPlace(kind, label, allRequests, times);
    return [
      ...owned.map(({ account }) => ({
        ...inAccount(place, account.id),
        label: `${label} · ${account.name}`,
      })),
      ...(owned.length > 1 ? [{ ...place, label: `${label} · all accounts` }] : []),
    ];
  });
}

/** The same place is listed once. */
export function withoutRepeats(places: readonly Place[]): Place[] {
  const known = new Set<string>();
  return places.filter(({ group, href }) => {
    const key = JSON.stringify([group, href]);
    return known.has(key) ? false : Boolean(known.add(key));
  });
}

/** A page of the gateway itself, which the app does not show. */
export function isOutside(href: string): boolean {
  return href === docsPath;
}

const maxRecent = 8;

/** The last places first. What is stored may be from another version, or changed by hand. */
export function readRecent(text: string | null): Place[] {
  try {
    const value: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(value) ? value.filter(isPlace).slice(0, maxRecent) : [];
  } catch {
    return [];
  }
}

function isPlace(value: unknown): value is Place {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  const isText = (name: string) => typeof fields[name] === 'string';
  const isOwn = isText('href') && /^\/(?!\/)/.test(fields.href as string);
  return isOwn && isText('group') && isText('label') && isText('detail');
}

export function withRecent(recent: readonly Place[], place: Place): Place[] {
  return [place, ...recent.filter(({ href }) => href !== place.href)].slice(0, maxRecent);
}
