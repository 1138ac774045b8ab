/** The headers that restrict what browsers do on the gateway's pages. */
type Headers = Readonly<Record<string, string>>;

/** The app loads its own scripts and styles and talks to its own server. Pictures that people choose are data URLs. */
export const appPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "object-src 'none'",
].join('; ');

/** A page to be read has its style and fonts, and a script that copies its examples. It talks to nobody. */
export const readingPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const unusedFeatures = [
  'accelerometer',
  'browsing-topics',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'publickey-credentials-create',
  'screen-wake-lock',
  'serial',
  'usb',
  'xr-spatial-tracking',
];

const always: Headers = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': unusedFeatures.map((feature) => `${feature}=()`).join(', '),
};

const twoYears = 63_072_000;

/** `origin` is where browsers find the gateway: Strict-Transport-Security is sent only for HTTPS. */
export function pageHeaders(policy: string, origin: string): Headers {
  return {
    ...always,
    'content-security-policy': policy,
    ...(origin.startsWith('https:') ? { 'strict-transport-security': `max-age=${twoYears}` } : {}),
  };
}
