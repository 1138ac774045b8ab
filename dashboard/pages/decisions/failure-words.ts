/** What each failure of a decision means for the person who ran it, and what to do about it. */
const advice: ReadonlyMap<string, string> = new Map([
  ['invalid_json', 'Load this page again, and run the decision once more.'],
  ['validation_error', 'Correct what the message names, and run the decision again.'],
  ['authentication_error', 'Your session has ended. Sign in again.'],
  [
    'invalid_origin',
    'Open the dashboard at its own address. If this is it, the operator must set PUBLIC_URL to that address.',
  ],
  ['request_too_large', 'Shorten the state or ask fewer questions: both together may be 256 KB.'],
  ['rate_limit', 'The provider takes no more requests at the moment.'],
  ['provider_authentication_error', 'The operator of this gateway must check DECISIONS_API_KEY.'],
  ['connection_error', 'Try again. If it stays like this, the operator must check DECISIONS_BASE_URL.'],
  ['invalid_response', 'Try again, or word the questions differently.'],
  [
    'not_configured',
    'The operator must set DECISIONS_BASE_URL, DECISIONS_API_KEY and DECISIONS_MODEL, or else DECISIONS_CHAT_MODEL with the ID of a chat model that has structured output.',
  ],
  ['authentication_unavailable', 'Try again in a moment.'],
  ['timeout', 'Try again, or ask fewer questions at once.'],
  ['provider_overloaded', 'Three attempts were made. Try again in a few minutes.'],
  ['network_error', 'Check your connection and try again.'],
]);

const inAnyOtherCase =
  'Try again. If it stays like this, name the request ID to the operator of this gateway.';

export function adviceForFailure(type: string, status: number): string {
  if (type === 'provider_error' && status === 422) return 'Word the questions or the criteria differently.';
  return advice.get(type) ?? inAnyOtherCase;
}

/** How long the provider asked to wait, from now on; 0 when it is over. */
export function secondsLeft(failedAtMs: number, retryAfterSeconds: number, nowMs: number): number {
  return Math.max(0, Math.ceil((failedAtMs + retryAfterSeconds * 1000 - nowMs) / 1000));
}
