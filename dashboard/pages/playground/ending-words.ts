/** What a refusal or an early end means for the reader, and what to do about it. */
import type { ApiProblem } from '../../api/client.ts';

const advice: ReadonlyMap<string, string> = new Map([
  [
    'insufficient_balance',
    'Ask the operator of this gateway to credit your account, or set a lower “max tokens”.',
  ],
  ['monthly_spend_limit_exceeded', 'Choose another key, or raise the monthly limit of this one.'],
  [
    'model_not_allowed',
    'Choose another key or another model. An owner can change which models a key may call.',
  ],
  ['rate_limit_exceeded', 'Wait a moment and try again, or raise the limits of this key.'],
  ['provider_rate_limit', 'Wait a moment and try again, or choose another model.'],
  ['expired_api_key', 'Choose another key.'],
  ['invalid_api_key', 'It was revoked or replaced meanwhile.'],
  ['account_suspended', 'Every key of this account is refused until the suspension is lifted.'],
  ['model_not_found', 'Choose another model.'],
  ['invalid_model', 'Choose another model.'],
  ['unsupported_parameter', 'Leave this setting out, or choose a model that supports it.'],
  ['invalid_parameter', 'Change this setting and try again.'],
  [
    'provider_bad_request',
    'The provider did not accept these settings or this message. Change them and try again.',
  ],
  [
    'provider_authentication_error',
    'Only the operator of this gateway can repair this. Choose another model meanwhile.',
  ],
  [
    'provider_not_configured',
    'Only the operator of this gateway can repair this. Choose another model meanwhile.',
  ],
  ['provider_unavailable', 'Try again, or choose another model.'],
  ['all_providers_unavailable', 'Try again in a minute, or choose another model.'],
  ['provider_timeout', 'Try again, or ask for a shorter answer.'],
  ['usage_missing', 'What you see may be whole. The Generation tells whether it was charged.'],
  ['billing_temporarily_unavailable', 'What you see is whole. The charge follows.'],
  ['stream_cut', 'The request may have ended and be charged all the same: what became of it stands below.'],
  ['network_error', 'Check your connection and try again.'],
]);

const inAnyOtherCase =
  'Try again. If it stays like this, name the request ID to the operator of this gateway.';

export function adviceFor(code: string): string {
  return advice.get(code) ?? inAnyOtherCase;
}

/** What the API says to programs is not always what a person at this page can use. */
export function titleFor({ code, message }: Pick<ApiProblem, 'code' | 'message'>): string {
  return code === 'invalid_api_key' ? 'This key is no longer in force. Choose another one.' : message;
}

/** Failures of a request that was let through, which therefore has a Generation. All others are refused before. */
const codesAfterAdmission: ReadonlySet<string> = new Set([
  'provider_attempt_create_failed',
  'provider_rate_limit',
  'provider_authentication_error',
  'provider_bad_request',
  'provider_unavailable',
  'provider_unknown_error',
  'provider_error',
  'provider_stream_error',
  'provider_timeout',
  'all_providers_unavailable',
  'billing_consistency_error',
  'billing_temporarily_unavailable',
  'usage_missing',
]);

/** Whatever fails within a stream has no status of its own, and was let through before the stream began. */
export function wasAdmitted({ code, status }: Pick<ApiProblem, 'code' | 'status'>): boolean {
  return (status === 0 && code !== 'network_error') || codesAfterAdmission.has(code);
}

/** Null for an answer that ended as answers do. */
export function wordsForFinish(reason: string | null): string | null {
  switch (reason) {
    case 'length':
      return 'The answer was cut off because it reached the most tokens allowed. Set a higher “max tokens” for more.';
    case 'content_filter':
      return 'The provider withheld the answer, or the rest of it, because of its content rules. Word the message differently.';
    default:
      return null;
  }
}
