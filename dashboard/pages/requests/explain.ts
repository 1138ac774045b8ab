import type { GenerationDetail } from '../../../src/console/contract.ts';
import { formatMoneyExactly, signOfMoney, subtractMoney } from '../../kit/amounts.ts';
import { aboutEstimates } from '../../kit/badge.tsx';

/** What happened to a request and to its money, and what to do about an error. */
type Explanation = Readonly<{ what: string; todo: string }>;

const again = 'Try again.';
const againSoon = 'Try again in a moment. If the problem persists, choose another model.';
const askOperator = 'Send the request ID to the operator of this gateway.';
const ifPersists = 'If the problem persists, send the request ID to the operator of this gateway.';
const withoutStreaming =
  'Try again. If the problem persists, try without streaming, or choose another model.';

// biome-ignore format: one line per code makes this table readable.
const explanations = new Map<string, Explanation>([
  ['insufficient_balance', { what: 'The balance did not cover the cost of the response.', todo: 'Ask the operator for credit, then try again.' }],
  ['rate_limit_exceeded', { what: 'The key exceeded its limit of requests per minute.', todo: 'Send fewer requests, or raise the limit of the key.' }],
  ['provider_rate_limit', { what: 'The provider is limiting requests.', todo: againSoon }],
  ['provider_unavailable', { what: 'The provider is unavailable.', todo: againSoon }],
  ['all_providers_unavailable', { what: 'All providers of this model failed.', todo: againSoon }],
  ['provider_timeout', { what: 'The provider took too long to respond.', todo: 'Try again. A shorter request or a lower output limit is faster.' }],
  ['provider_bad_request', { what: 'The provider rejected the request.', todo: 'Check the parameters, the images and the length of the messages. Sending the same request again will not help.' }],
  ['provider_authentication_error', { what: 'The provider rejected the credentials of this gateway. Your key is fine.', todo: askOperator }],
  ['provider_not_configured', { what: 'This gateway has no access to a provider of this model.', todo: `Choose another model. ${askOperator}` }],
  ['configuration_error', { what: 'This model is not configured correctly on this gateway.', todo: `Choose another model. ${askOperator}` }],
  ['provider_error', { what: 'The provider could not be reached, or its response was unreadable.', todo: againSoon }],
  ['provider_unknown_error', { what: 'The provider failed without giving a reason.', todo: againSoon }],
  ['provider_stream_error', { what: 'The stream from the provider was interrupted.', todo: withoutStreaming }],
  ['empty_provider_stream', { what: 'The provider started a stream but sent nothing.', todo: withoutStreaming }],
  ['malformed_stream_chunk', { what: 'Part of the stream was unreadable.', todo: withoutStreaming }],
  ['repeated_streaming_chunk_limit', { what: 'The provider repeated the same chunk over and over, so the response was stopped.', todo: 'Rephrase the request, or choose another model.' }],
  ['usage_missing', { what: 'The provider did not report its usage, so nothing could be charged.', todo: again }],
  ['streaming_error', { what: 'The response could not be delivered.', todo: `${again} ${ifPersists}` }],
  ['billing_consistency_error', { what: 'The response could not be charged correctly, so it was not delivered.', todo: askOperator }],
  ['billing_temporarily_unavailable', { what: 'The charge could not be stored immediately. It is settled later.', todo: 'You do not need to do anything. If you did not receive the response, try again.' }],
  ['gateway_interrupted', { what: 'The gateway stopped before the request was complete.', todo: again }],
  ['internal_error', { what: 'Something went wrong inside the gateway.', todo: askOperator }],
]);

/** `message` is the gateway's own message, for a code that is not in the table. */
export function explainError(code: string, message: string): Explanation {
  return explanations.get(code) ?? { what: message, todo: ifPersists };
}

/** The short form, for one of several attempts. */
export function explainAttempt(code: string): string {
  return explanations.get(code)?.what ?? 'It failed.';
}

type MoneyOutcome = Readonly<{
  label:
    | 'Held'
    | 'Charged'
    | 'Partly charged'
    | 'Partly refunded'
    | 'Refunded'
    | 'Written off'
    | 'Not charged';
  tone: 'accent' | 'good' | 'warn' | 'plain';
  text: string;
}>;

// biome-ignore format: one line per reason makes this table readable.
const reasons = new Map<string, string>([
  ['usage_missing', 'The provider did not report all of its usage, so the rest was not charged.'],
  ['insufficient_balance', 'The balance did not cover it.'],
  ['interrupted', 'The gateway stopped before the request was complete.'],
]);

/** Reasons that do not affect the customer: the delivered response is charged in full. */
const internalReasons: ReadonlySet<string | null> = new Set([null, 'implausible_usage']);

export function describeMoney(ledger: GenerationDetail['ledger']): MoneyOutcome {
  if (ledger === null) {
    return {
      label: 'Held',
      tone: 'accent',
      text: 'Nothing has been charged yet. The maximum cost is held until the request ends.',
    };
  }
  if (ledger.refunded !== null) return describeRefunds(ledger, ledger.refunded);
  if (ledger.is_estimated) {
    const { text, ...outcome } = describeEnding({ ...ledger, write_off_reason: estimatedReason(ledger) });
    return { ...outcome, text: `${text} ${aboutEstimates}` };
  }
  return describeEnding(ledger);
}

type Ended = NonNullable<GenerationDetail['ledger']>;

/** A refund without a reason is the gateway's. */
function describeRefunds({ charged, refunds }: Ended, refunded: string): MoneyOutcome {
  const isWhole = signOfMoney(subtractMoney(charged, refunded)) === 0;
  const given = refunds.map(({ amount, reason }) =>
    reason === null
      ? `${formatMoneyExactly(amount)} was refunded, because the response could not be delivered.`
      : `${formatMoneyExactly(amount)} was refunded: ${reason}`,
  );
  return {
    label: isWhole ? 'Refunded' : 'Partly refunded',
    tone: 'plain',
    text: [`${formatMoneyExactly(charged)} was charged.`, ...given].join(' '),
  };
}

/** An estimate replaces missing usage, so only an insufficient balance remains to be explained. */
function estimatedReason({ write_off_reason: reason }: Ended): string | null {
  return reason === 'usage_missing' ? null : reason;
}

function describeEnding(ledger: Ended): MoneyOutcome {
  const isCharged = signOfMoney(ledger.charged) > 0;
  const reason = reasons.get(ledger.write_off_reason ?? '') ?? '';
  const loss = ledger.written_off === null ? '' : formatMoneyExactly(ledger.written_off);
  if (internalReasons.has(ledger.write_off_reason)) {
    return isCharged
      ? { label: 'Charged', tone: 'good', text: 'The total was deducted from the balance.' }
      : {
          label: 'Not charged',
          tone: 'plain',
          text: 'Nothing was charged. The held amount is available again.',
        };
  }
  if (isCharged) {
    return {
      label: 'Partly charged',
      tone: 'warn',
      text: `${formatMoneyExactly(ledger.charged)} was charged, and ${loss || 'the rest'} was written off. ${reason}`.trim(),
    };
  }
  return {
    label: 'Written off',
    tone: 'warn',
    text: `Nothing was charged${loss === '' ? '' : `: ${loss} was written off`}. ${reason}`.trim(),
  };
}
