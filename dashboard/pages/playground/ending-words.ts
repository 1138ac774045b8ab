/** What to do about an error or an early end. */
import type { ApiProblem } from '../../api/client.ts';

const advice: ReadonlyMap<string, string> = new Map([
  ['insufficient_balance', 'Ask the operator of this gateway for credit, or lower “Max tokens”.'],
  ['monthly_spend_limit_exceeded', 'Choose another key, or raise the monthly limit of this one.'],
  [
    'model_not_allowed',
    'Choose another key or another model. An owner can change which models a key may call.',
  ],
  ['rate_limit_exceeded', 'Wait a moment and try again, or raise the limits of this key.'],
  ['provider_rate_limit', 'Wait a moment and try again, or choose another model.'],
  ['expired_api_key', 'Choose another key.'],
  ['invalid_api_key', 'It was revoked or replaced.'],
  ['account_suspended', 'All keys of this account are rejected until the suspension is lifted.'],
  ['model_not_found', 'Choose another model.'],
  ['invalid_model', 'Choose another model.'],
  ['unsupported_parameter', 'Remove this setting, or choose a model that supports it.'],
  ['invalid_parameter', 'Change this setting and try again.'],
  [
    'provider_bad_request',
    'The provider rejected these settings or this message. Change them and try again.',
  ],
  [
    'provider_authentication_error',
    'Only the operator of this gateway can fix this. Choose another model in the meantime.',
  ],
  [
    'provider_not_configured',
    'Only the operator of this gateway can fix this. Choose another model in the meantime.',
  ],
  ['provider_unavailable', 'Try again, or choose another model.'],
  ['all_providers_unavailable', 'Try again in a minute, or choose another model.'],
  ['provider_timeout', 'Try again, or ask for a shorter response.'],
  ['usage_missing', 'The response may be complete. The Generation shows whether it was charged.'],
  ['billing_temporarily_unavailable', 'The response is complete. It is charged later.'],
  ['stream_cut', 'The request may have finished and been charged anyway. Its status is shown below.'],
  ['network_error', 'Check your connection and try again.'],
]);

const defaultAdvice =
  'Try again. If the problem persists, send the request ID to the operator of this gateway.';

type Problem = Pick<ApiProblem, 'code' | 'message' | 'param'>;

export function adviceFor({ code, param }: Pick<Problem, 'code' | 'param'>): string {
  if (code === 'invalid_parameter' && isOfMessage(param)) return 'Change your message and try again.';
  return advice.get(code) ?? defaultAdvice;
}

/** The setting that an error is about; null when it is about what was written. */
export function settingOf({ param }: Pick<Problem, 'param'>): string | null {
  return isOfMessage(param) ? null : param;
}

function isOfMessage(param: string | null): boolean {
  return param !== null && /^(?:messages|prompt)\b/.test(param);
}

/** The message of the API is meant for programs, and does not always fit this page. */
export function titleFor({ code, message }: Pick<Problem, 'code' | 'message'>): string {
  if (code === 'invalid_api_key') return 'This key is no longer active. Choose another one.';
  return message.replace(guideAtEnd, '');
}

/** The section of a guide that a message points to, at the address of this page; null without one. */
export function guideOf({ message }: Pick<Problem, 'message'>): string | null {
  return guideAtEnd.exec(message)?.[1] ?? null;
}

const guideAtEnd = / See (?:https?:\/\/[^\s/]+)?(\/docs\/[\w-]+(?:#[\w-]+)?)$/;

/** Errors of admitted requests, which have a Generation. All other errors occur before admission. */
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

/** An error within a stream has no status, and the request was admitted before the stream started. */
export function wasAdmitted({ code, status }: Pick<ApiProblem, 'code' | 'status'>): boolean {
  return (status === 0 && code !== 'network_error') || codesAfterAdmission.has(code);
}

/** Null for a normal end. */
export function describeFinish(reason: string | null): string | null {
  switch (reason) {
    case 'length':
      return 'The response was cut off at the token limit. Raise “Max tokens” for a longer one.';
    case 'content_filter':
      return 'The provider’s content filter withheld all or part of the response. Rephrase the message.';
    default:
      return null;
  }
}
