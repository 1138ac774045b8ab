/** Which addresses an endpoint can have. Where they lead is checked with every delivery. */

const maxLength = 2_000;
/** Below it are the ports of other services, which a customer could make the gateway talk to. */
const firstFreePort = 1_024;

type UrlRules = 'customer' | 'operator';

/** Null for one that is not allowed. */
export function parseEndpointUrl(text: string, rules: UrlRules): string | null {
  const url = text.length <= maxLength ? URL.parse(text) : null;
  if (url === null || url.hostname === '' || url.username !== '' || url.password !== '' || url.hash !== '')
    return null;
  if (rules === 'operator') return ['https:', 'http:'].includes(url.protocol) ? url.href : null;
  const isFree = url.port === '' || Number(url.port) >= firstFreePort;
  return url.protocol === 'https:' && isFree && url.href.length <= maxLength ? url.href : null;
}

export const urlWords = {
  customer:
    'an https address such as https://example.com/events, without a user or a fragment, on port 443 or from 1024 up',
  operator: 'an http or https address such as https://example.com/events, without a user or a fragment',
} as const;
