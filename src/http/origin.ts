/** Whether a request comes from the gateway's own pages. Browsers send cookies with the requests of any page. */

/**
 * The address that browsers know the gateway by: the configured one, else the one that the request was sent to. A Host
 * header that names no host makes an address that is none, and that no page can come from.
 */
export function ownOriginOf(request: Request, publicUrl: string | null): string {
  if (publicUrl !== null) return publicUrl;
  return URL.canParse(request.url) ? new URL(request.url).origin : 'null';
}

/** A request that changes something must have an Origin, and it must be the gateway's own. */
export function isSameOrigin(request: Request, publicUrl: string | null): boolean {
  const origin = request.headers.get('origin');
  // What a browser calls null is any page that has no address.
  return origin !== 'null' && origin === ownOriginOf(request, publicUrl);
}

/** For requests of either kind. */
export function isFromHere(request: Request, publicUrl: string | null): boolean {
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  return isReading ? isReadFromHere(request, publicUrl) : isSameOrigin(request, publicUrl);
}

/**
 * A browser names no origin when a page only reads from its own, so for reading the lack of one is no sign of a stranger
 * unless the browser reports one.
 */
function isReadFromHere(request: Request, publicUrl: string | null): boolean {
  if (request.headers.has('origin')) return isSameOrigin(request, publicUrl);
  return ['same-origin', 'none', null].includes(request.headers.get('sec-fetch-site'));
}
