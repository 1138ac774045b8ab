/** Whether a request comes from the gateway's own pages. Browsers send cookies with the requests of any page. */

/**
 * The origin under which browsers know the gateway: the configured one, else that of the request. For an invalid Host
 * header it is one that no page can have.
 */
export function ownOriginOf(request: Request, publicUrl: string | null): string {
  if (publicUrl !== null) return publicUrl;
  return URL.canParse(request.url) ? new URL(request.url).origin : 'null';
}

/** A request that changes something must have an Origin, and it must be the gateway's own. */
export function isSameOrigin(request: Request, publicUrl: string | null): boolean {
  const origin = request.headers.get('origin');
  // Browsers send null for any page without an address.
  return origin !== 'null' && origin === ownOriginOf(request, publicUrl);
}

/**
 * For requests that read as well. Browsers send no Origin when a page reads from its own, so its absence means nothing
 * there, unless Sec-Fetch-Site reports another site.
 */
export function isFromHere(request: Request, publicUrl: string | null): boolean {
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  if (!isReading || request.headers.has('origin')) return isSameOrigin(request, publicUrl);
  return ['same-origin', 'none', null].includes(request.headers.get('sec-fetch-site'));
}
