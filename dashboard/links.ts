/**
 * Where a name leads. Things without a page of their own lead to their requests.
 */
import type { LinkProps } from '@tanstack/react-router';

export type Destination = Readonly<Pick<LinkProps, 'to' | 'params' | 'search'>>;

/** Who looks at the name: a customer, or an operator. */
type Reader = 'customer' | 'operator';

const lists = { customer: '/requests', operator: '/operator/requests' } as const;

/** Those of the last 30 days, because a link may be about an old one. */
export function requestsWith(filter: Readonly<Record<string, string>>, reader: Reader): Destination {
  return { to: lists[reader], search: { ...filter, range: '30d' } };
}

export function keyLink(id: string, reader: Reader = 'customer'): Destination {
  return requestsWith({ key: id }, reader);
}

export function modelLink(id: string, reader: Reader = 'customer'): Destination {
  return requestsWith({ model: id }, reader);
}

export function providerLink(name: string, reader: Reader = 'operator'): Destination {
  return requestsWith({ provider: name }, reader);
}

export function accountLink(id: string): Destination {
  return { to: '/operator/accounts/$id', params: { id } };
}

export function requestLink(id: string, reader: Reader = 'customer'): Destination {
  return { to: `${lists[reader]}/$id`, params: { id } };
}

/** Where the settings of a key are changed. */
export function keySettingsLink(name: string): Destination {
  return { to: '/keys', search: { search: name } };
}
