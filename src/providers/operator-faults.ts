/**
 * Errors that only the operator can fix, though their status says that the request is wrong. Vendors document few of them;
 * the others are known from what they send. A message is compared from its start: it may quote the request further on.
 */
import type { ErrorCode } from '../errors.ts';
import type { ErrorDetails } from './upstream.ts';
import { isObject } from './wire.ts';

type Fault = Readonly<{
  status: number;
  /** The vendor's type or code, or how its message begins. */
  says: string | RegExp;
  code: ErrorCode;
  setback: 'key' | 'credit';
}>;

const invalidKey = { code: 'provider_authentication_error', setback: 'key' } as const;
const noCredit = { code: 'provider_bad_request', setback: 'credit' } as const;

/** Anthropic. */
const messagesFaults: readonly Fault[] = [
  { status: 400, says: /^Your credit balance is too low/, ...noCredit },
  { status: 400, says: /^You have reached your specified API usage limits/, ...noCredit },
  { status: 400, says: /^This organization has been disabled/, ...invalidKey },
];

/** OpenAI, and others that speak its formats: Alibaba Cloud (Arrearage), and xAI (a key that is incorrect). */
const openaiFaults: readonly Fault[] = [
  { status: 400, says: 'billing_hard_limit_reached', ...noCredit },
  { status: 400, says: 'Arrearage', ...noCredit },
  { status: 429, says: 'insufficient_quota', code: 'provider_rate_limit', setback: 'credit' },
  { status: 429, says: 'billing_not_active', code: 'provider_rate_limit', setback: 'credit' },
  { status: 400, says: /^Incorrect API key provided/, ...invalidKey },
  // The key is valid, and the organization may do other things with the model.
  {
    status: 400,
    says: /^Your organization must be verified to /,
    code: 'provider_bad_request',
    setback: 'key',
  },
];

export const readMessagesError = faultReader(messagesFaults);
export const readOpenaiError = faultReader(openaiFaults);

function faultReader(faults: readonly Fault[]): (status: number, body: unknown) => ErrorDetails | null {
  return (status, body) => {
    const error = isObject(body) ? body.error : null;
    const { type, code, message } = isObject(error) ? error : { type: null, code: null, message: error };
    const fault = faults.find(
      ({ status: at, says }) =>
        at === status &&
        (typeof says === 'string'
          ? says === type || says === code
          : typeof message === 'string' && says.test(message)),
    );
    return fault === undefined ? null : { code: fault.code, retryAfterSeconds: null, setback: fault.setback };
  };
}
