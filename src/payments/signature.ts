/** Checks who sent an event: an HMAC over the raw bytes, made with a secret that only Stripe has. */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Older events may be replays; newer ones than now cannot be. */
const toleranceSeconds = 300;
/** Stripe sends one signature for each secret in force. */
const maxSignatures = 10;

type Signed = Readonly<{
  header: string | null;
  body: Uint8Array;
  secrets: readonly string[];
  nowMs: number;
}>;

export function isSignedByStripe({ header, body, secrets, nowMs }: Signed): boolean {
  const parts = (header ?? '').split(',').map((part) => part.trim());
  const times = valuesOf(parts, 't');
  const [time = ''] = times;
  // Two times would leave open which one was checked.
  if (times.length !== 1 || !/^\d{1,12}$/.test(time)) return false;
  if (Math.abs(nowMs / 1000 - Number(time)) > toleranceSeconds) return false;
  const given = valuesOf(parts, 'v1')
    .filter((text) => /^[0-9a-f]{64}$/.test(text))
    .slice(0, maxSignatures)
    .map((text) => Buffer.from(text, 'hex'));
  return secrets.some((secret) => {
    const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
    return given.some((signature) => timingSafeEqual(signature, expected));
  });
}

function valuesOf(parts: readonly string[], name: string): string[] {
  return parts.filter((part) => part.startsWith(`${name}=`)).map((part) => part.slice(name.length + 1));
}
