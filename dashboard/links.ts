/** Where a name leads. Things without a page of their own lead to their requests. */
import type { LinkProps } from '@tanstack/react-router';

export type Destination = Readonly<Pick<LinkProps, 'to' | 'params' | 'search'>>;

/** Who looks at the name: a customer, or an operator. */
type Reader = 'customer' | 'operator';

const lists = { customer: '/requests', operator: '/operator/requests' } as const;

/** Those of the last 30 days, because a link may be about an old one. */
export function requestsWith(filter: Readonly<Record<string, string>>, reader: Reader): Destination {
  return { to: lists[reader], search: { range: '30d', ...filter } };
}

/** Operators name the account: the page of a key is one of its account. */
export function keyLink(id: string, account?: string): Destination {
  return { to: '/keys/$id', params: { id }, ...inAccount(account) };
}

export function modelLink(id: string, account?: string): Destination {
  return { to: '/models/$id', params: { id }, ...inAccount(account) };
}

function inAccount(account: string | undefined): Pick<Destination, 'search'> {
  return account === undefined ? {} : { search: { account } };
}

/** By its ID, or by the name under which its calls are recorded. Only operators have a page for it. */
export function providerLink(name: string, reader: Reader = 'operator'): Destination {
  return reader === 'operator'
    ? { to: '/operator/providers/$id', params: { id: name } }
    : requestsWith({ provider: name }, reader);
}

export function accountLink(id: string): Destination {
  return { to: '/operator/accounts/$id', params: { id } };
}

/** Its page has its times by the clock that the list has. */
export function requestLink(id: string, reader: Reader = 'customer', isUtc = false): Destination {
  return { to: `${lists[reader]}/$id`, params: { id }, ...(isUtc ? { search: { tz: 'utc' } } : {}) };
}
